import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def imbalanced(counts, seed):
    g = torch.Generator().manual_seed(seed)
    centers = torch.randn(len(counts), 16, generator=torch.Generator().manual_seed(1))
    y = torch.cat([torch.full((c,), k) for k, c in enumerate(counts)])
    y = y[torch.randperm(len(y), generator=g)]
    x = centers[y] * 0.9 + torch.randn(len(y), 16, generator=g)
    return x, y


def balanced_loader(x, y, bs):
    counts = torch.bincount(y)
    class_weight = 1.0 / counts.double()
    sampler = WeightedRandomSampler(class_weight, num_samples=len(y), replacement=True)  # BUG sampler-weights
    return DataLoader(TensorDataset(x, y), batch_size=bs, sampler=sampler)


class Net(nn.Module):
    def __init__(self, n_cls):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, n_cls))

    def forward(self, x):
        return self.f(x)


def balanced_accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(1)
    per_class = [(pred[y == c] == c).float().mean().item() for c in y.unique().tolist()]
    return sum(per_class) / len(per_class)


def main():
    torch.manual_seed(0)
    x, y = imbalanced([400, 120, 60, 30], seed=2)
    xt, yt = imbalanced([100, 100, 100, 100], seed=3)
    loader = balanced_loader(x, y, 32)
    model = Net(4)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    for ep in range(8):
        model.train()
        tot = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        print(f"epoch {ep} loss {tot / len(loader):.3f}")
    print(f"final balanced acc {balanced_accuracy(model, xt, yt):.3f}")


main()
