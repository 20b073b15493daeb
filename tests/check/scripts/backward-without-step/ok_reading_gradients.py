"""Gradients that are wanted for themselves: saliency, Fisher information, norms by layer. The optimizer comes with a checkpoint."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])

x, y = torch.randn(12, 4, requires_grad=True), torch.randint(0, 3, (12,))
model.zero_grad()
nn.functional.cross_entropy(model(x), y).backward()
print(x.grad.abs().mean(0))

fisher = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
for k in range(len(x)):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[k : k + 1].detach()), y[k : k + 1]).backward()
    for name, p in model.named_parameters():
        fisher[name] += p.grad**2 / len(x)
print({name: f.sum().item() for name, f in fisher.items()})
