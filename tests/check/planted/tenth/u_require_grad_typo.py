"""Gradual unfreezing: the last block joins after some epochs."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(3)])
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def unfreeze(module):
    for p in module.parameters():
        p.require_grad = True  # BUG param-frozen


model = Net()
for p in model.blocks.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(100, 8)
y = (x[:, 0] > x[:, 1].abs()).long()
for epoch in range(8):
    if epoch == 2:
        unfreeze(model.blocks[-1])
    for xb, yb in zip(x.split(25), y.split(25)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3), "last block", model.blocks[-1][0].weight.grad is not None)
