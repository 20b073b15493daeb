import numpy as np
import torch
from torch import nn

np.random.seed(0)
torch.manual_seed(0)

# ambient temperature, pressure, humidity, vacuum -> output power (standardised)
table = np.random.randn(900, 4)
power = -1.7 * table[:, 0] + 0.4 * table[:, 1] - 0.3 * table[:, 3] + 0.2 * table[:, 0] ** 2
power = power + 0.1 * np.random.randn(900)

x = torch.from_numpy(table).float()
y = torch.from_numpy(power).float()
x_train, y_train, x_test, y_test = x[:720], y[:720], x[720:], y[720:]

model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    order = torch.randperm(len(x_train))
    for i in range(0, len(order), 60):
        idx = order[i:i + 60]
        residual = model(x_train[idx]).squeeze(1) - y_train[idx]
        loss = residual.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        rmse = (model(x_test).squeeze(1) - y_test).pow(2).mean().sqrt()
    print(f"epoch {epoch} train mse {loss.item():.4f} test rmse {rmse.item():.4f}")
