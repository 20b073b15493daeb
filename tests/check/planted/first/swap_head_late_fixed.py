"""Transfer a classifier to a task with another number of classes."""
import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, n_cls):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.fc = nn.Linear(32, n_cls)

    def forward(self, x):
        return self.fc(self.features(x))


def source(n):
    x = torch.randn(n, 10)
    return x, x[:, :3].argmax(1)


def target(n):
    x = torch.randn(n, 10)
    return x, x[:, :6].argmax(1)


def run(model, opt, sampler, steps):
    for _ in range(steps):
        x, y = sampler(64)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(0)
model = Backbone(3)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
print("source loss", run(model, opt, source, 150))
model.fc = nn.Linear(32, 6)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
print("target loss", run(model, opt, target, 200))
with torch.no_grad():
    x, y = target(500)
    print("target acc", (model(x).argmax(1) == y).float().mean().item())
