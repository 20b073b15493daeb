"""A small transformer with weight decay for matrices only."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.out(torch.tanh(self.mix(self.norm(x))))


def configure(model, lr=3e-3, decay=0.05):
    decayed = [p for n, p in model.named_parameters() if p.ndim >= 2]
    plain = [p for n, p in model.named_parameters() if p.ndim < 2]
    groups = [{"params": decayed, "weight_decay": decay}]  # BUG param-not-in-optimizer
    return torch.optim.AdamW(groups, lr=lr)  # BUG param-not-in-optimizer


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), Block(16), Block(16), nn.Linear(16, 1))
optimizer = configure(model)
x = torch.randn(64, 6)
y = x.prod(1, keepdim=True) + 4.0
for step in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 4), "bias", model[0].bias.grad is not None)
