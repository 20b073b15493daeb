import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(240, 12)
y = (x[:, 0].abs() > 0.7).long()
model = nn.Sequential(
    nn.Linear(12, 48), nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(48, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for rows in torch.randperm(240).split(40):
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
