"""The logarithm of a mixture."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
g = nn.Linear(6, 3)
E = nn.ModuleList(nn.Linear(6, 4) for _ in range(3))
opt = torch.optim.Adam([*g.parameters(), *E.parameters()], lr=1e-2)
X = torch.randn(64, 6)
Y = X[:, :4].argmax(1)
for it in range(30):
    w = g(X).softmax(1)
    p = torch.stack([e(X).softmax(1) for e in E], 1)
    loss = F.nll_loss(torch.log(torch.bmm(w.unsqueeze(1), p).squeeze(1)), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
