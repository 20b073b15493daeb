"""A state is carried from batch to batch, and cut off once for each."""

import torch
from torch import nn


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(4, 6)
        self.cell = nn.GRUCell(6, 8)
        self.out = nn.Linear(8, 4)

    def forward(self, tokens, h):
        h = h.detach()
        for column in tokens.unbind(1):
            h = self.cell(self.emb(column), h)
        return self.out(h), h


torch.manual_seed(0)
model = First()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
h = torch.zeros(8, 8)
for _ in range(6):
    tokens = torch.randint(0, 4, (8, 5))
    logits, h = model(tokens, h)
    loss = nn.functional.cross_entropy(logits, tokens[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
