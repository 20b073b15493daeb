"""Multi-head attention that makes its heads with one view instead of view and transpose."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        batch, time, width = x.shape
        q = self.q(x).view(batch, self.heads, time, self.size)  # <- finding
        k = self.k(x).view(batch, time, self.heads, self.size).transpose(1, 2)
        v = self.v(x).view(batch, time, self.heads, self.size).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


torch.manual_seed(0)
model, head = Attention(12, 3), nn.Linear(12, 2)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(4, 5, 12), torch.randint(0, 2, (4,))
for _ in range(3):
    loss = F.cross_entropy(head(model(x).mean(dim=1)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
