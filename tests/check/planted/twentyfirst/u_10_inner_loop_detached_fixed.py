import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)

from torch.func import functional_call

net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(20):
    xs, ts = X[:128], T[:128]
    weights = dict(net.named_parameters())
    inner = F.mse_loss(functional_call(net, weights, (xs,)), ts)
    grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
    fast = {k: w - 0.1 * g for (k, w), g in zip(weights.items(), grads)}
    outer = F.mse_loss(functional_call(net, fast, (X[128:],)), T[128:])
    meta.zero_grad()
    outer.backward()
    meta.step()
