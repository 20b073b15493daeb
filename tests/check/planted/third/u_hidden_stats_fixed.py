"""Regression of pump efficiency with a log of standardised hidden activity."""
import numpy as np
import torch
from torch import nn


def describe(activity):
    """Kurtosis of the hidden units, averaged."""
    activity = activity - activity.mean(axis=0)
    activity = activity / (activity.std(axis=0) + 1e-6)
    return float((activity ** 4).mean())


class Pump(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 32)
        self.readout = nn.Linear(32, 1)
        self.activity = None

    def forward(self, x):
        h = torch.sigmoid(self.hidden(x))
        self.activity = h.detach().numpy()
        return self.readout(h).squeeze(1)


rng = np.random.default_rng(1)
torch.manual_seed(1)
inputs = rng.uniform(-1, 1, (900, 5))
efficiency = np.sin(2 * inputs[:, 0]) + inputs[:, 1] * inputs[:, 2] + 0.05 * rng.normal(size=900)
x = torch.tensor(inputs, dtype=torch.float32)
y = torch.tensor(efficiency, dtype=torch.float32)

model = Pump()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for step in range(160):
    idx = torch.randint(0, 700, (70,))
    loss = loss_fn(model(x[idx]), y[idx])
    kurtosis = describe(model.activity)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 39:
        print(f"step {step + 1} mse {loss.item():.4f} kurtosis {kurtosis:.2f}")

with torch.no_grad():
    print("held-out mse", loss_fn(model(x[700:]), y[700:]).item())
