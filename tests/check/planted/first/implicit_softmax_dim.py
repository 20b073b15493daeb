"""Soft attention pooling over word vectors with a learned scorer."""
import torch
from torch import nn
import torch.nn.functional as F


class AttnPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, d), nn.Tanh(), nn.Linear(d, 1))

    def forward(self, h):
        w = F.softmax(self.score(h))  # BUG softmax-wrong-dim
        return (w * h).sum(1)


class Classifier(nn.Module):
    def __init__(self, v=30, d=16):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.pool = AttnPool(d)
        self.fc = nn.Linear(d, 4)

    def forward(self, ids):
        return self.fc(self.pool(self.emb(ids)))


def sample(n):
    y = torch.randint(0, 4, (n,))
    ids = torch.randint(4, 30, (n, 12))
    ids[torch.arange(n), torch.randint(0, 12, (n,))] = y
    return ids, y


def main():
    torch.manual_seed(0)
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(200):
        ids, y = sample(32)
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        ids, y = sample(200)
        print("acc", (model(ids).argmax(1) == y).float().mean().item())


main()
