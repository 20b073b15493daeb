import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.middle = nn.Linear(16, 16)
        self.last = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = torch.relu(self.middle(h))
        return self.last(h)


torch.manual_seed(0)
x = torch.randn(100, 6)
y = x[:, :1] * 2
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(12):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
