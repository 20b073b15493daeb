"""A penalty on weights; one on the way from weights that are kept fixed; and the size of weights
that is only printed.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 12)
y = x[:, :1] - x[:, 1:2]
net = nn.Linear(12, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
first = [p.detach().clone() for p in net.parameters()]
for step in range(12):
    fit = nn.functional.mse_loss(net(x), y)
    ridge = sum(p.pow(2).sum() for p in net.parameters())
    near = sum((p - q).abs().sum() for p, q in zip(net.parameters(), first))
    loss = fit + 1e-3 * ridge + 1e-3 * near
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    size = net.weight.data.abs().sum()
    print((fit.detach() + 1e-3 * size).item())
