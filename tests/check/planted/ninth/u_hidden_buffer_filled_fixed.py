# A recurrent cell that writes its states into one buffer
import torch
from torch import nn


class Smoother(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d, bias=False)

    def forward(self, x):
        n, t, d = x.shape
        states = torch.zeros(n, t + 1, d)
        for k in range(t):
            states = torch.cat([states[:, :k + 1], torch.tanh(self.a(x[:, k]) + self.b(states[:, k])).unsqueeze(1), states[:, k + 2:]], 1)
        return states[:, 1:]


torch.manual_seed(38)
x = torch.randn(60, 5, 4)
y = x.cumsum(1).tanh()
net = Smoother(4)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for rows in torch.arange(60).split(20):
        opt.zero_grad()
        loss = (net(x[rows]) - y[rows]).square().mean()
        loss.backward()
        opt.step()
    print(loss.item())
