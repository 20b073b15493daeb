"""Click-through rates in [0, 1] regressed from ad features."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class AdDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, 7)).astype(np.float32)
        z = self.x[:, 0] - 0.7 * self.x[:, 3] + 0.3
        self.ctr = 1 / (1 + np.exp(-z))
        self.y = torch.from_numpy(self.ctr).long()  # BUG label-dtype

    def __len__(self):
        return len(self.ctr)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), self.y[i]


torch.manual_seed(0)
train_ds, test_ds = AdDataset(600, 1), AdDataset(300, 2)
loader = DataLoader(train_ds, batch_size=30, shuffle=True)
net = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
crit = nn.BCEWithLogitsLoss()

for epoch in range(8):
    for x, y in loader:
        loss = crit(net(x).squeeze(1), y.float())  # BUG label-dtype
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: loss {loss.item():.5f}")

with torch.no_grad():
    p = torch.sigmoid(net(torch.from_numpy(test_ds.x)).squeeze(1)).numpy()
print("mean predicted CTR %.3f, true %.3f, MAE %.3f" % (p.mean(), test_ds.ctr.mean(), np.abs(p - test_ds.ctr).mean()))
