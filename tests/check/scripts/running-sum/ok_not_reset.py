import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 10)
y = x @ torch.randn(10, 1)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    running = 0.0
    for i in torch.randperm(300).split(30):
        loss = F.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    print("epoch", epoch, "loss", running / 10)
