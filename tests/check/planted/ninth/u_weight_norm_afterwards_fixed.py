# Weight normalisation is switched on by a flag, after the optimizer was made
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(35)
use_weight_norm = True
x = torch.randn(320, 7)
y = torch.tanh(x[:, :1] * x[:, 1:2])
model = nn.Sequential(nn.Linear(7, 32), nn.Tanh(), nn.Linear(32, 1))
if use_weight_norm:
    weight_norm(model[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if use_weight_norm:
    pass
for epoch in range(6):
    for rows in torch.randperm(320).split(40):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
