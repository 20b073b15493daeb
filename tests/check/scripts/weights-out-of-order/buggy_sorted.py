"""Unique counts are sorted before their inverse is taken."""

import torch
from torch import nn

torch.manual_seed(0)
centers = 2 * torch.randn(4, 6)
y = torch.multinomial(torch.tensor([0.5, 0.08, 0.3, 0.12]), 600, replacement=True)
x = centers[y] + torch.randn(600, 6)
counts = torch.bincount(y).sort().values
weights = counts.sum() / counts
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
def criterion(scores, labels):
    return nn.functional.nll_loss(scores.log_softmax(1), labels, weight=weights)  # <- finding


optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for rows in torch.randperm(600).split(40):
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
