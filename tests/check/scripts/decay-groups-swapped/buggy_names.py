"""Names decide, and the groups are handed back in the other order."""

import torch
from torch import nn

torch.manual_seed(0)


def split(model):
    plain, decayed = [], []
    for name, p in model.named_parameters():
        (plain if name.endswith("bias") else decayed).append(p)
    return plain, decayed


model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
decayed, plain = split(model)
groups = [dict(params=plain, weight_decay=0.0), dict(params=decayed, weight_decay=0.05)]
optimizer = torch.optim.SGD(groups, lr=1e-2)  # <- finding
x = torch.randn(20, 4)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    loss.backward()
    optimizer.step()
print(loss.item())
