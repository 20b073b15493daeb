"""The model is put into train mode once per epoch, and evaluated after every other batch."""

import torch
from torch import nn


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
x = torch.randn(240, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    model.train()
    for i, rows in enumerate(torch.randperm(160).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        if i % 2 == 1:
            print(epoch, i, accuracy(model, x[160:], y[160:]))  # <- finding
