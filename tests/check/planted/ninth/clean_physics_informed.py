# A differential equation: derivatives of the network by autograd.grad
import torch
from torch import nn

torch.manual_seed(133)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(80):
    t = torch.rand(40, 1, requires_grad=True)
    u = net(t)
    du, = torch.autograd.grad(u.sum(), t, create_graph=True)
    residual = du + 2 * u
    start = net(torch.zeros(1, 1)) - 1
    loss = residual.pow(2).mean() + start.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
