import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# yacht resistance: six hull parameters, smooth target
x = 2 * torch.rand(800, 6) - 1
y = torch.exp(x[:, 0]) - 1.2 + 0.5 * x[:, 1] * x[:, 2] - 0.3 * x[:, 5]
loader = DataLoader(TensorDataset(x[:640], y[:640]), batch_size=64, shuffle=True)
x_val, y_val = x[640:], y[640:]

model = nn.Sequential(
    nn.Linear(6, 32), nn.Tanh(),
    nn.Linear(32, 32), nn.Tanh(),
    nn.Linear(32, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=3)  # BUG lr-absurd
loss_fn = nn.MSELoss()

for epoch in range(12):
    total = 0.0
    for xb, yb in loader:
        loss = loss_fn(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            val = loss_fn(model(x_val).squeeze(1), y_val).item()
        print(f"epoch {epoch + 1} train {total / len(loader):.4f} val {val:.4f}")
