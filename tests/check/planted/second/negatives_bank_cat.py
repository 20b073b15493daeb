"""Momentum contrast with a queue of keys."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, d_in=16, d=16, size=512, m=0.95):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(d_in, 48), nn.ReLU(), nn.Linear(48, d))
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.size, self.m = size, m
        self.register_buffer("queue", F.normalize(torch.randn(size, d), dim=1))

    @torch.no_grad()
    def update(self, keys):
        for pk, pq in zip(self.k.parameters(), self.q.parameters()):
            pk.mul_(self.m).add_(pq, alpha=1 - self.m)
        self.queue = torch.cat([keys, self.queue])  # BUG memory-growth

    def forward(self, a, b, tau=0.2):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            k = F.normalize(self.k(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue[torch.randint(0, len(self.queue), (256,))].t()
        logits = torch.cat([pos, neg], 1) / tau
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long)), k


torch.manual_seed(0)
net = MoCo()
opt = torch.optim.Adam(net.q.parameters(), lr=3e-3)
data = torch.randn(600, 16)
for step in range(200):
    x = data[torch.randint(0, 600, (64,))]
    loss, k = net(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.update(k)
print("loss", loss.item(), "capacity", net.size)
