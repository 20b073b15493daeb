# Rare defects (5 %) are oversampled so that both classes weigh the same.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)
gen = torch.Generator().manual_seed(12)
N = 1600
X = torch.randn(N, 25, generator=gen)
y = (torch.rand(N, generator=gen) < 0.05).long()
X[y == 1, :5] += 0.9


def oversample(x, t):
    pos = (t == 1).nonzero().squeeze(1)
    n_extra = int((t == 0).sum()) - len(pos)
    extra = pos[torch.randint(len(pos), (n_extra,), generator=gen)]
    idx = torch.cat([torch.arange(len(t)), extra])
    return x[idx], t[idx]


def split(x, t, frac=0.75):
    p = torch.randperm(len(t), generator=gen)
    k = int(frac * len(t))
    return x[p[:k]], t[p[:k]], x[p[k:]], t[p[k:]]


X, y = oversample(X, y)  # BUG data-leak
xtr, ytr, xte, yte = split(X, y)  # BUG data-leak

loader = DataLoader(TensorDataset(xtr, ytr), batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1)
for epoch in range(12):
    tot = 0.0
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(yb)
    print(f"epoch {epoch:2d} loss {tot / len(ytr):.4f}")
with torch.no_grad():
    pred = net(xte).argmax(1)
print(f"test size {len(yte)}; defects found {((pred == 1) & (yte == 1)).sum() / (yte == 1).sum():.3f}, "
      f"specificity {((pred == 0) & (yte == 0)).sum() / (yte == 0).sum():.3f}")
