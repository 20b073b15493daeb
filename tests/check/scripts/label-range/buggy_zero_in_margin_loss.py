"""Similar pairs are 1 and others 0, but the loss takes 0 for nothing at all."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
criterion = nn.MarginRankingLoss(margin=0.5)
score = nn.Linear(4, 1)
optimizer = torch.optim.Adam([*encoder.parameters(), *score.parameters()], lr=0.01)
pairs = TensorDataset(torch.randn(24, 6), torch.randn(24, 6), torch.randint(0, 2, (24,)).float())
for left, right, better in DataLoader(pairs, batch_size=8):
    a, b = score(encoder(left)).squeeze(1), score(encoder(right)).squeeze(1)
    loss = criterion(a, b, better)  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
