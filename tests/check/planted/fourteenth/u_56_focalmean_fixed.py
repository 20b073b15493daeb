import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("alpha", alpha)

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, reduction="none")
        pt = torch.exp(-ce)
        loss = (1 - pt) ** self.gamma * ce
        if self.alpha is not None:
            loss = self.alpha[target] * loss
        return loss.mean()


class Detector(nn.Module):
    """Scores anchors as background or object."""

    def __init__(self, d=12, h=48):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.cls = nn.Linear(h, 2)

    def forward(self, x):
        return self.cls(self.tower(x))


def anchors(n, seed, rate=0.06):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) < rate).long()
    x = torch.randn(n, 12, generator=g)
    x[y == 1, :3] += 1.1
    return x, y


def scores(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(1)
    tp = ((pred == 1) & (y == 1)).sum().item()
    recall = tp / max((y == 1).sum().item(), 1)
    precision = tp / max((pred == 1).sum().item(), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def main():
    torch.manual_seed(0)
    x, y = anchors(2000, 1)
    xv, yv = anchors(3000, 2)
    loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=True)
    model = Detector()
    crit = FocalLoss(2.0, alpha=torch.tensor([0.15, 0.85]))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    for ep in range(12):
        model.train()
        for xb, yb in loader:
            loss = crit(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 4 == 0:
            print(ep, f"loss {loss.item():.4f}", "P %.3f R %.3f F1 %.3f" % scores(model, xv, yv))
    print("final P %.3f R %.3f F1 %.3f" % scores(model, xv, yv))


main()
