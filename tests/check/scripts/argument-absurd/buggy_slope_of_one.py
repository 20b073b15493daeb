import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 10)
y = (x[:, 0] * x[:, 1] > 0).float()
net = nn.Sequential(nn.Linear(10, 32), nn.LeakyReLU(True), nn.Linear(32, 32), nn.LeakyReLU(True), nn.Linear(32, 1))  # <- finding
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    for i in torch.randperm(300).split(30):
        loss = F.binary_cross_entropy_with_logits(net(x[i]).squeeze(1), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
