"""Counts of a dictionary are in the order in which the classes were met."""

import torch
from torch import nn

torch.manual_seed(0)
centers = 2 * torch.randn(4, 6)
y = torch.multinomial(torch.tensor([0.08, 0.22, 0.6, 0.1]), 600, replacement=True)
x = centers[y] + torch.randn(600, 6)
counts = {}
for label in y.tolist():
    counts[label] = counts.get(label, 0) + 1
weights = 1 / torch.tensor([float(n) for n in counts.values()])
weights = weights / weights.mean()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
criterion = nn.CrossEntropyLoss(weight=weights)  # <- finding
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for rows in torch.randperm(600).split(40):
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
