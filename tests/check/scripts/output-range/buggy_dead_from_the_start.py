"""A ReLU on the only output of a regression whose targets are negative: its output is zero from the start and stays zero."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(64, 4)
y = -2 - x.sum(dim=1, keepdim=True)
model = nn.Sequential(
    nn.Linear(4, 16),
    nn.Tanh(),
    nn.Linear(16, 1),
    nn.ReLU(),  # <- finding
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(12):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        optimizer.step()
print(loss.item())
