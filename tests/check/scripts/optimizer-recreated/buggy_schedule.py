import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 10)
y = x @ torch.randn(10, 1)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for epoch in range(8):
    sch = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)  # <- finding
    for i in torch.randperm(300).split(30):
        loss = F.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    sch.step()
