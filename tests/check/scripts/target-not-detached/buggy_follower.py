"""BYOL: an online network predicts the projection of a slowly moving target."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


class Byol(nn.Module):
    def __init__(self, dim=10, out=6, momentum=0.98):
        super().__init__()
        self.momentum = momentum
        self.online = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, out))
        self.predictor = nn.Sequential(nn.Linear(out, 16), nn.ReLU(), nn.Linear(16, out))
        self.target = copy.deepcopy(self.online)

    def loss(self, a, b):
        p = F.normalize(self.predictor(self.online(a)), dim=1)
        z = F.normalize(self.target(b), dim=1)  # <- finding
        return 2 - 2 * (p * z).sum(1).mean()

    @torch.no_grad()
    def follow(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(self.momentum).add_(o, alpha=1 - self.momentum)


def main():
    torch.manual_seed(43)
    data = torch.randn(512, 10)
    model = Byol()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(2):
        for x in data[torch.randperm(512)].split(64):
            one, two = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
            loss = 0.5 * (model.loss(one, two) + model.loss(two, one))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.follow()
        print(epoch, loss.item())


main()
