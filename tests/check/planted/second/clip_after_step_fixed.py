"""Long-sequence integrator with a ReLU RNN and gradient clipping."""
import torch
from torch import nn


class Integrator(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.inp = nn.Linear(1, d)
        self.rec = nn.Parameter(torch.eye(d))
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = torch.zeros(x.shape[0], self.rec.shape[0])
        for t in range(x.shape[1]):
            h = torch.relu(self.inp(x[:, t]) + h @ self.rec)
        return self.out(h)


torch.manual_seed(0)
net = Integrator()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x = torch.rand(32, 40, 1)
    y = x.mean(1)
    loss = (net(x) - y).abs().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print("mean absolute error", loss.item())
