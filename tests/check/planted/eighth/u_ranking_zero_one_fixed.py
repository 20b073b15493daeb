# Learning to rank: which of two documents is the better one
import torch
from torch import nn

torch.manual_seed(20)
quality = torch.randn(12, 1)
docs = torch.randn(600, 2, 12)
better = (docs @ quality).squeeze(-1)
first_wins = (better[:, 0] > better[:, 1]).float() * 2 - 1
scorer = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))
criterion = nn.MarginRankingLoss(margin=0.5)
optimizer = torch.optim.Adam(scorer.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(600).split(60):
        s = scorer(docs[rows]).squeeze(-1)
        loss = criterion(s[:, 0], s[:, 1], first_wins[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
