import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
bias = nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([*net.parameters(), bias], lr=0.05)
for epoch in range(4):
    for i in range(0, 256, 32):
        out = net(X[i : i + 32]) + bias
        parts = {
            "fit": F.mse_loss(out, T[i : i + 32]),
            "size": sum(p.pow(2).sum() for p in net.parameters()),
        }
        parts = {k: round(float(v), 4) for k, v in parts.items()}  # BUG gradient-cut
        loss = parts["fit"] + 1e-3 * parts["size"] + 0.0 * bias.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
