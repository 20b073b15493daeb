"""A loss per sample, combined with weights."""

import torch
from torch import nn

torch.manual_seed(44)


class WeightedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.SmoothL1Loss()

    def forward(self, outputs, targets, weights):
        losses = [self.base(o, t) for o, t in zip(outputs, targets)]
        losses = torch.tensor(losses, requires_grad=True)  # BUG gradient-cut
        return (losses * weights).sum() / weights.sum()


net = nn.Sequential(nn.Linear(5, 16), nn.ELU(), nn.Linear(16, 2))
criterion = WeightedLoss()
opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
A = torch.randn(5, 2)
for step in range(20):
    x = torch.randn(16, 5)
    w = torch.rand(16) + 0.5
    loss = criterion(net(x), x @ A, w)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
