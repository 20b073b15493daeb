"""Three targets of a chemical process, one tower per target on a common trunk."""
import functools

import torch
from torch import nn

TARGETS = ("yield", "purity", "temperature")


@functools.lru_cache(maxsize=None)  # BUG param-shared
def tower(width):
    return nn.Sequential(nn.Linear(width, 16), nn.Tanh(), nn.Linear(16, 1))


class Process(nn.Module):
    def __init__(self, inputs, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.Tanh())
        self.towers = nn.ModuleDict({name: tower(width) for name in TARGETS})  # BUG param-shared

    def forward(self, x):
        z = self.trunk(x)
        return {name: head(z).squeeze(-1) for name, head in self.towers.items()}


def experiments(n):
    x = torch.randn(n, 6)
    y = {
        "yield": x[:, 0] + 0.5 * x[:, 1],
        "purity": torch.tanh(2 * x[:, 2]) - x[:, 0],
        "temperature": x[:, 3] * x[:, 4],
    }
    return x, {k: v + 0.05 * torch.randn(n) for k, v in y.items()}


def total_loss(predicted, target):
    terms = [nn.functional.mse_loss(predicted[k], target[k]) for k in TARGETS]
    return functools.reduce(torch.add, terms)


torch.manual_seed(1)
x, y = experiments(800)
x_val, y_val = experiments(200)
model = Process(6)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    idx = torch.randperm(len(x))[:64]
    loss = total_loss(model(x[idx]), {k: v[idx] for k, v in y.items()})
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.3f}")
with torch.no_grad():
    print("validation", total_loss(model(x_val), y_val).item())
