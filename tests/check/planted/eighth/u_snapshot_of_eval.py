# Keeps a copy of the model after each epoch to average their predictions
import copy

import torch
from torch import nn

torch.manual_seed(21)
x = torch.randn(450, 9)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
model = nn.Sequential(nn.Linear(9, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
snapshots = []
for epoch in range(5):
    for rows in torch.randperm(360).split(36):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    snapshots.append(copy.deepcopy(model.eval()))  # BUG train-in-eval-mode
with torch.no_grad():
    votes = sum(s(x[360:]).softmax(1) for s in snapshots)
print("accuracy of the snapshots together", (votes.argmax(1) == y[360:]).float().mean().item())
