"""A mask of ones is added to the scores: it hides nothing."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.place = nn.Parameter(0.1 * torch.randn(8, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, tokens):
        x = self.embed(tokens) + self.place[: tokens.shape[1]]
        mask = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1)  # <- finding
        mixed, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return self.head(x + mixed)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    tokens = torch.randint(0, 20, (8, 9))
    scores = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(scores.reshape(-1, 20), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
