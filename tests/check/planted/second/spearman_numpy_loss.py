"""Train a ranker against a rank-correlation surrogate."""
import numpy as np
import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def pairwise_hinge(scores, rel, margin=0.5):
    s = scores.detach().numpy()  # BUG gradient-cut
    r = rel.numpy()
    diff = np.subtract.outer(s, s)
    better = np.subtract.outer(r, r) > 0
    loss = np.maximum(0.0, margin - diff)[better].mean()
    return torch.tensor(loss, requires_grad=True)  # BUG gradient-cut


def concordance(s, r):
    a = s[:, None] > s[None]
    b = r[:, None] > r[None]
    return (a == b).float().mean().item()


def main():
    torch.manual_seed(0)
    model = Ranker()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(200):
        x = torch.randn(32, 6)
        rel = x[:, 0] + x[:, 1] * x[:, 2]
        loss = pairwise_hinge(model(x), rel)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x = torch.randn(200, 6)
        print("concordance", concordance(model(x), x[:, 0] + x[:, 1] * x[:, 2]))


main()
