import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
torch.manual_seed(0)


class MixupDataset(torch.utils.data.Dataset):
    """Doubles the data with mixed pairs; targets are one-hot rows."""

    def __init__(self, x, y, n_classes, alpha=1.0):
        onehot = np.eye(n_classes, dtype=int)[y]
        n = len(x)
        lam = rng.beta(alpha, alpha, size=(n, 1))
        other = rng.permutation(n)
        self.x = np.concatenate([x, lam * x + (1 - lam) * x[other]]).astype(np.float32)
        self.t = np.empty((2 * n, n_classes), dtype=np.float32)
        self.t[:n] = onehot
        self.t[n:] = lam * onehot + (1 - lam) * onehot[other]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.t[i].astype(np.float32)


centers = rng.normal(size=(4, 8)) * 1.5
y = rng.integers(0, 4, 500)
x = centers[y] + rng.normal(size=(500, 8))
ds = MixupDataset(x[:400], y[:400], 4)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    for xb, tb in torch.utils.data.DataLoader(ds, 50, shuffle=True):
        loss = -(tb * net(xb).log_softmax(1)).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 3))
print("row sums of the targets: min", ds.t.sum(1).min(), "max", ds.t.sum(1).max())
with torch.no_grad():
    acc = (net(torch.tensor(x[400:], dtype=torch.float32)).argmax(1).numpy() == y[400:]).mean()
print("test acc", acc)
