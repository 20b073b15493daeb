"""A mean over the padding instead of over the tokens."""

import torch
from torch import nn

torch.manual_seed(0)


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, tokens):
        mask = (tokens == 0).float()[..., None]  # <- finding
        hidden = self.embed(tokens)
        return self.head((hidden * mask).sum(1) / mask.sum(1))


model = Average()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    tokens = torch.randint(1, 12, (8, 9))
    tokens[torch.arange(9) >= torch.randint(3, 8, (8, 1))] = 0
    loss = nn.functional.cross_entropy(model(tokens), (tokens == 2).any(1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
