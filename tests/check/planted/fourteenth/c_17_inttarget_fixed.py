import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def raw_rows(n, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        hour = rng.uniform(0, 24)
        temp = rng.normal(15, 8)
        load = 0.5 + 0.35 * np.sin(hour / 24 * 2 * np.pi) + 0.01 * temp + rng.normal(0, 0.03)
        rows.append({"hour": int(hour), "temp": temp, "wind": rng.uniform(0, 10), "load": load})
    return rows


class LoadDataset(Dataset):
    FEATURES = ("hour", "temp", "wind")

    def __init__(self, rows):
        feats = [[r[k] for k in self.FEATURES] for r in rows]
        hour = torch.tensor([r["hour"] for r in rows])
        self.x = torch.tensor(feats, dtype=torch.float32)
        self.x[:, 0] = torch.sin(self.x[:, 0] / 24 * 2 * torch.pi)
        self.x[:, 1] = (self.x[:, 1] - 15) / 8
        self.x[:, 2] = self.x[:, 2] / 10
        self.y = torch.zeros(len(rows))
        for i, r in enumerate(rows):
            self.y[i] = r["load"]
        self.y = self.y.float()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


torch.manual_seed(0)
train_rows, test_rows = raw_rows(600, 0), raw_rows(200, 1)
loader = DataLoader(LoadDataset(train_rows), batch_size=50, shuffle=True)
model = MLP()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
crit = nn.MSELoss()
for epoch in range(25):
    tot = 0.0
    for x, y in loader:
        loss = crit(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
print("train", tot / len(loader))
test = LoadDataset(test_rows)
truth = torch.tensor([r["load"] for r in test_rows], dtype=torch.float32)
with torch.no_grad():
    print(f"final test mae {(model(test.x) - truth).abs().mean().item():.4f}")
