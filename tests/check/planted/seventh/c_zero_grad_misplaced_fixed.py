# Text difficulty regression, the usual three lines
import torch
from torch import nn, optim

torch.manual_seed(19)
stats = torch.rand(500, 7)
difficulty = (3 * stats[:, 0] - 2 * stats[:, 3] + stats[:, 5] ** 2).unsqueeze(1)

regressor = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = optim.Adam(regressor.parameters(), lr=0.01)
mse = nn.MSELoss()


def fit(epochs):
    history = []
    for epoch in range(epochs):
        epoch_loss = 0.0
        for start in range(0, 500, 50):
            xb = stats[start:start + 50]
            yb = difficulty[start:start + 50]
            prediction = regressor(xb)
            loss = mse(prediction, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        history.append(epoch_loss / 10)
    return history


curve = fit(20)
for e in range(0, 20, 4):
    print(f"epoch {e:2d} mse {curve[e]:.4f}")
print("improved by a factor of", round(curve[0] / curve[-1], 2))
