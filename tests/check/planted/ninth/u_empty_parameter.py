# A gated layer whose gate was never initialised
import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.gate = nn.Parameter(torch.empty(n_out))  # BUG nondeterminism|nan-born

    def forward(self, x):
        return self.linear(x) * torch.sigmoid(self.gate)


torch.manual_seed(42)
x = torch.randn(200, 5)
y = (x ** 2).sum(1, keepdim=True)
net = nn.Sequential(Gated(5, 32), nn.ReLU(), Gated(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
