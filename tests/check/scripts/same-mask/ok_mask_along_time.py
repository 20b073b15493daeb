import torch
from torch import nn


class Locked(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.mask = torch.bernoulli(torch.full((d,), 0.5)) / 0.5

    def forward(self, x):
        if not self.training:
            return x
        return x * torch.bernoulli(torch.full((len(x), 1, self.d), 0.5)) / 0.5


torch.manual_seed(0)
x = torch.randn(160, 5, 12)
net = nn.Sequential(Locked(12), nn.Flatten(), nn.Linear(60, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for batch in x.split(16):
        loss = nn.functional.mse_loss(net(batch).squeeze(1), batch.mean((1, 2)))
        opt.zero_grad()
        loss.backward()
        opt.step()
