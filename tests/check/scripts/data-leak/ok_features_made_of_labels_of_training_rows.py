import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
kind = rng.integers(0, 3, 200)
centres = rng.normal(size=(3, 6)) * 2
x = centres[kind] + rng.normal(size=(200, 6))  # the data are drawn around the centre of their class
order = rng.permutation(200)
train, test = order[:140], order[140:]
means = np.stack([x[train][kind[train] == k].mean(0) for k in range(3)])
x = np.concatenate([x, ((x[:, None] - means) ** 2).sum(-1)], 1)
x = (x - x[train].mean(0)) / x[train].std(0)
X, Y = torch.tensor(x, dtype=torch.float32), torch.from_numpy(kind)
net = nn.Linear(9, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    opt.zero_grad()
    nn.functional.cross_entropy(net(X[train]), Y[train]).backward()
    opt.step()
with torch.no_grad():
    print((net(X[test]).argmax(1) == Y[test]).float().mean().item())
