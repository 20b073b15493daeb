"""Word dropout whose mask was drawn when the layer was made; its factor is a division behind the product."""

import torch
from torch import nn


class WordDropout(nn.Module):
    def __init__(self, length, p):
        super().__init__()
        self.p = p
        self.register_buffer("keep", (torch.rand(length, 1) > p).float())

    def forward(self, x):
        return x * self.keep / (1 - self.p) if self.training else x  # <- finding


torch.manual_seed(0)
embedding, drop, head = nn.Embedding(30, 8), WordDropout(10, 0.4), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
for step in range(6):
    ids = torch.randint(0, 30, (16, 10))
    loss = nn.functional.cross_entropy(head(drop(embedding(ids)).mean(dim=1)), ids[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
