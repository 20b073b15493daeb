"""Validation switches gradients off by hand."""

import torch
from torch import nn

torch.manual_seed(41)
x, v = torch.randn(160, 6), torch.randn(40, 6)
f = lambda t: t[:, :1] * t[:, 1:2] + t[:, 2:3]
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)


def run(phase):
    if phase == "val":
        torch.set_grad_enabled(False)  # BUG gradient-cut
        model.eval()
        score = nn.functional.mse_loss(model(v), f(v)).item()
        return score
    model.train()
    for chunk in torch.randperm(160).split(40):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[chunk]), f(x[chunk]))
        loss.backward()  # BUG gradient-cut
        opt.step()
    return loss.item()


for epoch in range(3):
    for phase in ("train", "val"):
        print(epoch, phase, run(phase))
