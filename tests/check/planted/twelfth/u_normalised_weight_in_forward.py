"""A layer whose weight rows are kept at unit length."""

import torch
from torch import nn
from torch.nn import functional as F


class CosineLinear(nn.Module):
    def __init__(self, d_in, d_out, scale=8.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in))
        self.scale = scale

    def forward(self, x):
        self.weight = nn.Parameter(F.normalize(self.weight, dim=1))  # BUG param-replaced
        return self.scale * F.linear(F.normalize(x, dim=1), self.weight)


torch.manual_seed(48)
embed = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16))
head = CosineLinear(16, 5)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
prototypes = torch.randn(5, 12)
for step in range(40):
    y = torch.randint(0, 5, (40,))
    x = prototypes[y] + 0.4 * torch.randn(40, 12)
    loss = F.cross_entropy(head(embed(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
