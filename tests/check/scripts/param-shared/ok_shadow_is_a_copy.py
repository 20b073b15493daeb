"""A running average beside the parameters."""

import torch
from torch import nn

torch.manual_seed(0)


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {k: p.data.clone() for k, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for k, p in model.named_parameters():
            self.shadow[k].mul_(self.decay).add_(p.data, alpha=1 - self.decay)


net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
ema = EMA(net)
for _ in range(40):
    x = torch.randn(32, 6)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(net)
