"""The folds of a cross validation go on with one model."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 10)
y = (x[:, 0] + 0.5 * torch.randn(200) > 0).long()
folds = torch.randperm(200).chunk(4)
net = nn.Linear(10, 2)  # <- finding
for k in range(4):
    val = folds[k]
    train = torch.cat([folds[j] for j in range(4) if j != k])
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(20):
        i = train[torch.randint(0, len(train), (32,))]
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print("fold", k, (net(x[val]).argmax(1) == y[val]).float().mean().item())
