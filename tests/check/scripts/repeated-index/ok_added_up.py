"""index_add, index_put with accumulate and bincount add up all entries."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(6, 4)
y = torch.randint(0, 2, (6,))
src = torch.tensor([0, 1, 2, 3, 4, 5, 1, 2])
dst = torch.tensor([1, 0, 1, 2, 5, 4, 3, 0])
lin, out = nn.Linear(4, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*lin.parameters(), *out.parameters()], lr=1e-2)
for _ in range(5):
    h = lin(x)
    received = torch.zeros_like(h).index_add_(0, dst, h[src])
    again = torch.zeros_like(h).index_put_((dst,), h[src], accumulate=True)
    degree = torch.bincount(dst, minlength=6).clamp(min=1)
    loss = nn.functional.cross_entropy(out(torch.relu(h + (received + again) / degree[:, None])), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
