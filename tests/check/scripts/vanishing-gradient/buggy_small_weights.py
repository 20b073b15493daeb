"""Weights that begin far too small, in a plain deep convolutional network."""

import torch
import torch.nn.functional as F
from torch import nn


class Deep(nn.Module):
    def __init__(self, depth=8, width=6):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))
        self.head = nn.Linear(width, 2)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.normal_(m.weight, std=0.02)  # <- finding

    def forward(self, x):
        x = F.relu(self.stem(x))
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.head(x.mean(dim=(2, 3)))


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = Deep()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 2, (8,))
print([train_step(model, optimizer, x, y) for _ in range(5)])
