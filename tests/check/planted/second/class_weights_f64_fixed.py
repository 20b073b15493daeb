"""Class-balanced focal-like loss with weights from label counts."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def balance(labels, n_cls):
    counts = np.bincount(labels, minlength=n_cls)
    w = counts.sum() / (n_cls * counts)
    return torch.as_tensor(w, dtype=torch.float32)


class BalancedLoss(nn.Module):
    def __init__(self, weights, gamma=1.0):
        super().__init__()
        self.register_buffer("weights", weights)
        self.gamma = gamma

    def forward(self, logits, y):
        ce = F.cross_entropy(logits, y, reduction="none")
        focus = (1 - torch.exp(-ce)) ** self.gamma
        return (self.weights[y] * focus * ce).mean()


rng = np.random.default_rng(0)
torch.manual_seed(0)
x = rng.normal(size=(900, 6)).astype(np.float32)
y = np.where(x[:, 0] > 1.0, 2, np.where(x[:, 1] > 0.5, 1, 0))
crit = BalancedLoss(balance(y, 3))
xt, yt = torch.from_numpy(x), torch.from_numpy(y)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    for idx in torch.randperm(700).split(50):
        loss = crit(net(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("held-out acc", (net(xt[700:]).argmax(1) == yt[700:]).float().mean().item())
