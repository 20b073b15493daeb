# Survival times: Cox's partial likelihood over the risk set of a sorted batch
import torch
from torch import nn

torch.manual_seed(122)
x = torch.randn(240, 5)
time = torch.distributions.Exponential(torch.exp(x[:, 0])).sample()
event = torch.rand(240) < 0.8
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1, bias=False))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for rows in torch.randperm(240).split(80):
        rows = rows[time[rows].argsort(descending=True)]
        risk = model(x[rows]).squeeze(1)
        loss = -(risk - risk.logcumsumexp(0))[event[rows]].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
