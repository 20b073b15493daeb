"""Two sets that are drawn from each for itself."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
f = nn.Linear(8, 8)
g = nn.Linear(6, 8)
opt = torch.optim.Adam([*f.parameters(), *g.parameters()], lr=1e-2)
X, Z = torch.randn(256, 8), torch.randn(256, 6)
for it in range(60):
    i, j = torch.randint(0, 256, (64,)), torch.randint(0, 256, (64,))
    a, b = F.normalize(f(X[i]), dim=1), F.normalize(g(Z[j]), dim=1)
    loss = (a @ b.T).logsumexp(1).mean() - 0.1 * a.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
