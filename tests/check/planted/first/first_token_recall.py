"""Recall the first symbol of a sequence after a delay, with a hand-written recurrent cell."""
import torch
from torch import nn
import torch.nn.functional as F

N_SYM, T = 4, 16


class Cell(nn.Module):
    def __init__(self, n_in, n_h):
        super().__init__()
        self.wx = nn.Linear(n_in, n_h)
        self.wh = nn.Linear(n_h, n_h, bias=False)
        nn.init.orthogonal_(self.wh.weight, gain=0.5)  # BUG vanishing-gradient

    def forward(self, x, h):
        return torch.tanh(self.wx(x) + self.wh(h))


class Recall(nn.Module):
    def __init__(self, n_h=32):
        super().__init__()
        self.emb = nn.Embedding(N_SYM + 1, 8)
        self.cell = Cell(8, n_h)
        self.out = nn.Linear(n_h, N_SYM)
        self.n_h = n_h

    def forward(self, ids):
        h = torch.zeros(ids.shape[0], self.n_h)
        for x in self.emb(ids).unbind(1):
            h = self.cell(x, h)
        return self.out(h)


def batch(n):
    ids = torch.full((n, T), N_SYM)
    ids[:, 0] = torch.randint(0, N_SYM, (n,))
    return ids, ids[:, 0].clone()


torch.manual_seed(1)
net = Recall()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(200):
    ids, y = batch(32)
    loss = F.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
with torch.no_grad():
    ids, y = batch(200)
    print(f"recall accuracy {(net(ids).argmax(1) == y).float().mean():.3f} (chance {1 / N_SYM})")
