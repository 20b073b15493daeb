"""Only biases are trained, and low-rank additions to frozen weights."""

import torch
from torch import nn


class LowRank(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(0.1 * torch.randn(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


torch.manual_seed(0)
model = nn.Sequential(LowRank(nn.Linear(4, 8)), nn.ReLU(), nn.Linear(8, 1))
for name, p in model[2].named_parameters():
    p.requires_grad = name.endswith("bias")
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item(), len(trained))
