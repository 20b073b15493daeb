"""300 classes stored in eight bits."""

import torch
from torch import nn


class Words:
    def __init__(self, count):
        self.ids = torch.arange(count) % 300
        self.vectors = torch.randn(count, 6)

    def labels(self):
        return self.ids.to(torch.uint8)  # <- finding


torch.manual_seed(0)
words = Words(320)
model = nn.Linear(6, 300)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
y = words.labels()
for start in range(0, 320, 64):
    loss = nn.functional.cross_entropy(model(words.vectors[start : start + 64]), y[start : start + 64].long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
