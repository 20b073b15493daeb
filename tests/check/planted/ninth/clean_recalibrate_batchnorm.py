# After training, running statistics are computed anew: train mode under no_grad, on purpose
import torch
from torch import nn

torch.manual_seed(103)
x = torch.randn(256, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for rows in torch.randperm(192).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
model[1].reset_running_stats()
model[1].momentum = None
model.train()
with torch.no_grad():
    for rows in torch.arange(192).split(32):
        model(x[rows])
model.eval()
with torch.no_grad():
    print((model(x[192:]).argmax(1) == y[192:]).float().mean().item())
