import torch
from torch import nn

torch.manual_seed(0)
levels = torch.tensor([0.1, 0.5, 0.9])
x = torch.randn(200, 4)
y = x[:, :1] + 0.3 * torch.randn(200, 1)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    error = y - net(x)  # one target beside three quantiles of it
    loss = torch.maximum(levels * error, (levels - 1) * error).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
