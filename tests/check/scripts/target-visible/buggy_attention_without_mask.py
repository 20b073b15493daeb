"""The call of an attention layer has no mask, although the next tokens are to be predicted."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.table = nn.Embedding(12, width)
        self.mix = nn.MultiheadAttention(width, 2, batch_first=True)
        self.head = nn.Linear(width, 12)

    def forward(self, tokens):
        x = self.table(tokens)
        mixed, _ = self.mix(x, x, x)  # <- finding
        return self.head(x + mixed)


model = Block()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    rows = torch.randint(0, 12, (8, 11))
    scores = model(rows[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
