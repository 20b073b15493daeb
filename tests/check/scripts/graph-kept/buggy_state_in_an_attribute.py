import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out, self.state = nn.GRUCell(3, 8), nn.Linear(8, 1), None

    def forward(self, x):
        before = torch.zeros(len(x), 8) if self.state is None else self.state
        h = self.cell(x, before)
        self.state = h  # <- finding
        return self.out(h)


torch.manual_seed(0)
net = Memory()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(6):
    x = torch.randn(4, 3)
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
