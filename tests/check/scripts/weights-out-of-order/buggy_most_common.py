"""The weights come in the order of the counts, the classes in that of their numbers."""

from collections import Counter

import torch
from torch import nn

torch.manual_seed(0)
centers = 2 * torch.randn(4, 6)
y = torch.multinomial(torch.tensor([0.1, 0.2, 0.55, 0.15]), 600, replacement=True)
x = centers[y] + torch.randn(600, 6)
counts = Counter(y.tolist())
weights = torch.tensor([600 / (4 * n) for _, n in counts.most_common()])
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
