import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 10)
y = x @ torch.randn(10, 1)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
anchor = [p.data for p in net.parameters()]  # <- finding
for epoch in range(3):
    for i in torch.randperm(300).split(30):
        reg = sum(((p - a) ** 2).sum() for p, a in zip(net.parameters(), anchor))
        loss = F.mse_loss(net(x[i]), y[i]) + 0.1 * reg
        opt.zero_grad()
        loss.backward()
        opt.step()
