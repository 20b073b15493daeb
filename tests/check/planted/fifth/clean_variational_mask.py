"""Variational dropout: one mask for all time steps of a sequence, a new one for each batch."""
import torch
from torch import nn


class LockedDropout(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        mask = x.new_empty(x.size(0), 1, x.size(2)).bernoulli_(1 - self.p)
        return x * mask / (1 - self.p)


class Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = LockedDropout()
        self.rnn = nn.GRU(3, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(self.drop(h)).squeeze(-1)


torch.manual_seed(0)
net = Seq()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    x = torch.randn(32, 12, 3)
    y = x[..., 0].cumsum(1).tanh()
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4))
net.eval()
with torch.no_grad():
    x = torch.randn(200, 12, 3)
    print("mse", round(nn.functional.mse_loss(net(x), x[..., 0].cumsum(1).tanh()).item(), 4))
