"""The losses for both labels are mixed; the partners' labels have an order of their own."""

import torch
from torch import nn

torch.manual_seed(0)
centres = torch.randn(3, 5)
y = torch.randint(0, 3, (160,))
x = centres[y] + 0.5 * torch.randn(160, 5)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(160).split(40):
        xb, yb = x[rows], y[rows]
        share = 0.7
        mixed = torch.lerp(xb[torch.randperm(len(xb))], xb, share)
        partners = yb[torch.randperm(len(yb))]  # <- finding
        scores = model(mixed)
        loss = share * criterion(scores, yb) + (1 - share) * criterion(scores, partners)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
