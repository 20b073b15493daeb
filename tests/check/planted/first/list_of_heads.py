"""Multi-task regression: a shared trunk and one head for each task."""
import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, n_in=6, d=32, n_tasks=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.heads = [nn.Linear(d, 1) for _ in range(n_tasks)]  # BUG param-not-in-optimizer

    def forward(self, x):
        h = self.trunk(x)
        return [head(h).squeeze(1) for head in self.heads]


def tasks(x):
    return [x[:, 0] * x[:, 1], x[:, 2].abs(), x[:, 3:].sum(1)]


def total_loss(preds, ys, weights=(1.0, 1.0, 0.3)):
    return sum(w * nn.functional.mse_loss(p, y) for w, p, y in zip(weights, preds, ys))


torch.manual_seed(0)
model = MultiTask()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(300):
    x = torch.randn(64, 6)
    loss = total_loss(model(x), tasks(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x = torch.randn(500, 6)
    print("test loss", total_loss(model(x), tasks(x)).item())
