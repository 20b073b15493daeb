"""Two-tower matching model whose query projection is sized on first use."""
from functools import cached_property
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, dim_in, dim=12):
        super().__init__()
        self.dim_in, self.dim = dim_in, dim
        self.temper = nn.Parameter(torch.zeros(()))
        self.body = nn.Linear(dim, dim)

    @cached_property  # BUG param-not-in-optimizer
    def proj(self):  # BUG param-not-in-optimizer
        return nn.Linear(self.dim_in, self.dim)  # BUG param-not-in-optimizer

    def forward(self, x):
        h = self.body(torch.relu(self.proj(x)))  # BUG param-not-in-optimizer
        return nn.functional.normalize(h, dim=-1) * self.temper.exp()


torch.manual_seed(0)
mixing = torch.randn(30, 30)
left, right = Tower(30), Tower(30)
a = torch.randn(64, 30)
left(a), right(a)
opt = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=1e-2)  # BUG param-not-in-optimizer
w0 = left.proj.weight.detach().clone()
for step in range(250):
    a = torch.randn(64, 30)
    b = a @ mixing / 5
    loss = nn.functional.cross_entropy(8 * left(a) @ right(b).T, torch.arange(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))
print("loss", round(loss.item(), 4), "projection moved", not torch.equal(w0, left.proj.weight))
