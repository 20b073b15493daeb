"""Two lists of row numbers that overlap, rows of whole numbers, and a running average of the model is evaluated."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
ids = torch.randint(0, 50, (200, 12))
y = (ids[:, 0] > 25).long()
train_rows = list(range(150))
val_rows = list(range(120, 200))  # <- finding


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 8)
        self.f = nn.Linear(8, 2)

    def forward(self, i):
        return self.f(self.e(i).mean(1))


net = Net()
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.Adam(net.parameters(), 1e-2)
tx, ty = ids[torch.tensor(train_rows)], y[train_rows]
vx, vy = ids[torch.tensor(val_rows)], y[val_rows]
for _ in range(10):
    loss = nn.functional.cross_entropy(net(tx), ty)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 0.1)
        print((ema(vx).argmax(1) == vy).float().mean().item())
