# Energy use of buildings, mean absolute error written by hand
import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.hidden = nn.Linear(5, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def mae(prediction, target):
    return (prediction.squeeze(1) - target).abs().mean()


torch.manual_seed(3)
features = torch.randn(640, 5)
usage = features @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5]) + 0.1 * torch.randn(640)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    order = torch.randperm(512)
    for rows in order.split(64):
        optimizer.zero_grad()
        loss = mae(model(features[rows]), usage[rows])
        loss.backward()
        optimizer.step()
with torch.no_grad():
    error = (model(features[512:])[:, 0] - usage[512:]).abs().mean()
print("held-out error", error.item())
