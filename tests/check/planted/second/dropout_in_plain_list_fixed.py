"""MLP whose layer specification lives in a list of (linear, norm, dropout) tuples."""
import torch
from torch import nn


class SpecNet(nn.Module):
    def __init__(self, dims, p):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.drops = nn.ModuleList(nn.Dropout(p) for _ in dims[2:])

    def forward(self, x):
        for lin, drop in zip(self.linears, self.drops):
            x = drop(torch.relu(lin(x)))
        return self.linears[-1](x)


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.AdamW(net.parameters(), lr=4e-3)

    def fit(self, batches):
        self.net.train()
        for x, y in batches:
            self.opt.zero_grad()
            loss = nn.functional.mse_loss(self.net(x), y)
            loss.backward()
            self.opt.step()

    def validate(self, x, y):
        self.net.eval()
        with torch.no_grad():
            return nn.functional.mse_loss(self.net(x), y).item()


def draw(n):
    x = torch.randn(n, 5)
    return x, torch.stack([x[:, 0] * x[:, 1], x[:, 2]], 1)


torch.manual_seed(0)
t = Trainer(SpecNet([5, 64, 64, 2], 0.3))
val = draw(400)
for epoch in range(5):
    t.fit(draw(64) for _ in range(50))
    print(epoch, "val mse", t.validate(*val))
