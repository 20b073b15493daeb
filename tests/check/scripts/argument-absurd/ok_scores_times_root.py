"""A one-layer transformer that finds the largest of several items."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, self.size).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.size)
        mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Linear(2, width)
        self.norm = nn.LayerNorm(width)
        self.attend = Attention(width, 4)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        h = self.embed(x)
        h = h + self.attend(self.norm(h))
        return self.head(h).squeeze(-1)


def main():
    torch.manual_seed(31)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(120):
        x = torch.randn(32, 7, 2)
        y = (x[..., 0] + x[..., 1]).argmax(1)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.3f}")


main()
