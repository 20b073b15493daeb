import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(15, 12, padding_idx=0)
        self.gru = nn.GRU(12, 20, batch_first=True)
        self.out = nn.Linear(20, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        _, hidden = self.gru(x)
        last = hidden[-1]  # <- finding
        return self.out(last)


tokens = torch.randint(1, 15, (120, 10))
for row, n in enumerate(torch.randint(3, 10, (120,)).tolist()):
    tokens[row, n:] = 0
labels = (tokens[:, 1] > 7).long()
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(120).split(30):
        optimizer.zero_grad()
        F.cross_entropy(model(tokens[rows]), labels[rows]).backward()
        optimizer.step()
