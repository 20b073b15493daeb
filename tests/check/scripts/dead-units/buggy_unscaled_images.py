"""Pixels from 0 to 255 and a filter bank with negative weights: the convolution's channels are off for every image."""

import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 20, 3, padding=1)
        self.head = nn.Linear(20, 3)

    def forward(self, x):
        x = self.conv(x).clamp(min=0)
        return self.head(x.mean(dim=(2, 3)))


torch.manual_seed(0)
images = torch.randint(0, 256, (16, 1, 6, 6)).float()
labels = torch.randint(0, 3, (16,))
model = Features()
with torch.no_grad():
    model.conv.weight[2:] -= 0.4  # <- finding
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for epoch in range(6):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
