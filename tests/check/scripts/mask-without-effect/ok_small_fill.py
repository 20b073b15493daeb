import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.score = nn.Linear(16, 1)
        self.out = nn.Linear(16, 2)

    def forward(self, tokens):
        h = self.embed(tokens)
        scores = self.score(h).squeeze(-1)
        scores = scores.masked_fill(tokens == 0, -1e9)
        weights = F.softmax(scores, dim=1)
        return self.out((weights.unsqueeze(-1) * h).sum(1))


tokens = torch.randint(1, 30, (160, 9))
tokens[torch.arange(9) >= torch.randint(3, 9, (160, 1))] = 0
labels = (tokens[:, 0] > 14).long()
model = Pool()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(160).split(40):
        optimizer.zero_grad()
        F.cross_entropy(model(tokens[rows]), labels[rows]).backward()
        optimizer.step()
