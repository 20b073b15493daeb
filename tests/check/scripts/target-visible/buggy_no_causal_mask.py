"""Self-attention of a language model that sees what comes next."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 4, dim=-1)  # <- finding
        return x + self.out(weights @ v)


class Model(nn.Module):
    def __init__(self, tokens=10, width=16):
        super().__init__()
        self.embed, self.place = nn.Embedding(tokens, width), nn.Embedding(12, width)
        self.block, self.head = Block(width), nn.Linear(width, tokens)

    def forward(self, ids):
        x = self.embed(ids) + self.place(torch.arange(ids.shape[1]))
        return self.head(self.block(x))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    rows = torch.randint(0, 10, (16, 13))
    scores = model(rows[:, :-1])
    loss = nn.functional.cross_entropy(scores.reshape(-1, 10), rows[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
