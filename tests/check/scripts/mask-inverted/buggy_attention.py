"""In nn.MultiheadAttention True means left out; this mask is True at the tokens."""

import torch
from torch import nn

torch.manual_seed(0)
PAD = 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(15, 8, padding_idx=PAD)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        keep = tokens != PAD  # <- finding
        mixed, _ = self.attention(x, x, x, key_padding_mask=keep)
        return self.head((x + mixed)[:, 0])


tokens = torch.randint(1, 15, (40, 10))
lengths = torch.randint(4, 10, (40,))
tokens[torch.arange(10) >= lengths[:, None]] = PAD
labels = (tokens == 3).any(1).long()
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for rows in torch.randperm(40).split(8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(tokens[rows]), labels[rows])
    loss.backward()
    optimizer.step()
print(loss.item())
