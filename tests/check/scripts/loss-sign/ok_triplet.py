"""Metric learning with a triplet loss; evaluated by nearest neighbours."""
import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


def triplets(x, y, n):
    a = torch.randint(0, len(x), (n,))
    same = y[a].unsqueeze(1) == y.unsqueeze(0)
    p = torch.multinomial(same.float(), 1).squeeze(1)
    q = torch.multinomial((~same).float(), 1).squeeze(1)
    return x[a], x[p], x[q]


def retrieval(model, x, y):
    with torch.no_grad():
        z = model(x)
    d = torch.cdist(z, z) + 10 * torch.eye(len(z))
    return (y[d.argmin(1)] == y).float().mean().item()


def main():
    torch.manual_seed(73)
    means = torch.randn(6, 12)
    y = torch.randint(0, 6, (400,))
    x = means[y] + 0.8 * torch.randn(400, 12)
    model = Embedder()
    criterion = nn.TripletMarginLoss(margin=0.3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(12):
        anchor, positive, negative = triplets(x, y, 64)
        za, zp, zn = model(anchor), model(positive), model(negative)
        loss = criterion(za, zp, zn)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 11:
            print(step, loss.item(), retrieval(model, x, y))


main()
