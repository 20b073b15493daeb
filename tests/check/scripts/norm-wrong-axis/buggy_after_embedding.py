import torch
from torch import nn


class Tagger(nn.Module):
    """Scores sequences of twelve tokens."""

    def __init__(self, vocabulary=40, length=12, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.norm = nn.BatchNorm1d(length)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        h = self.embed(tokens)
        h = self.norm(h)  # <- finding
        h = h + self.attention(h, h, h, need_weights=False)[0]
        return self.head(h.mean(1))


torch.manual_seed(5)
tokens = torch.randint(0, 40, (240, 12))
labels = (tokens.lt(8).sum(1) > 2).long()
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=4e-3)
for epoch in range(4):
    for rows in torch.randperm(240).split(40):
        loss = nn.functional.cross_entropy(tagger(tokens[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
