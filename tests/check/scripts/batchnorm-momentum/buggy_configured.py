"""The momentum is a number of the configuration."""

import torch
from torch import nn

torch.manual_seed(0)
NORM = {"momentum": 0.9, "eps": 1e-3}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.norm = nn.BatchNorm1d(16, **NORM)  # <- finding
        self.last = nn.Linear(16, 2)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))))


model = Net()

x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    model.train()
    for rows in torch.randperm(64).split(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x).argmax(1) == y).float().mean().item())
