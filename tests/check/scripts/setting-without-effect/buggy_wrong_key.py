import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 4)
y = x.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def set_rate(optimizer, rate):
    for group in optimizer.param_groups:
        group["learning_rate"] = rate  # <- finding


for epoch in range(5):
    set_rate(optimizer, 1e-2 / (1 + epoch))
    for rows in torch.randperm(200).split(40):
        optimizer.zero_grad()
        F.mse_loss(model(x[rows]), y[rows]).backward()
        optimizer.step()
