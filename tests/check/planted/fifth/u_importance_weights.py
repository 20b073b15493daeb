"""Regression under covariate shift with importance weights from a dataclass batch."""
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor
    w: torch.Tensor

    @classmethod
    def draw(cls, n):
        x = torch.randn(n, 1)
        y = torch.where(x > 1, -3 * (x - 1), x.abs())
        w = torch.sigmoid(6 * (x[:, 0] - 0.5)) + 0.01
        return cls(x, y, w / w.mean())


def weighted_mse(pred, batch):
    err = (pred - batch.y) ** 2
    return (batch.w * err).mean()  # BUG mutual-broadcast


torch.manual_seed(0)
net = nn.Linear(1, 1)
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(700):
    batch = Batch.draw(128)
    loss = weighted_mse(net(batch.x), batch)  # BUG mutual-broadcast
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0:
        print(step, round(loss.item(), 4))
probe = Batch.draw(5000)
with torch.no_grad():
    se = (net(probe.x) - probe.y).square().squeeze(1)
print("error where the weight is high", round(se[probe.w > 1].mean().item(), 4))
print("weighted error", round((probe.w * se).mean().item(), 4))
