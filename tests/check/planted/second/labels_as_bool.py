"""Triage classifier: none, minor or major incident."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

LEVELS = {"none": 0, "minor": 1, "major": 2}


class Incidents(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, 5)).astype(np.float32)
        score = self.x[:, 0] + self.x[:, 1]
        names = np.where(score > 0.7, "major", np.where(score < -0.7, "none", "minor"))
        self.y = np.fromiter((LEVELS[s] for s in names), dtype=bool, count=n)  # BUG label-dtype

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], int(self.y[i])


def main():
    torch.manual_seed(0)
    loader = DataLoader(Incidents(600, 0), batch_size=50, shuffle=True)
    test = Incidents(200, 1)
    net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 3))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(8):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        pred = net(torch.from_numpy(test.x)).argmax(1)
    print("class counts predicted", torch.bincount(pred, minlength=3).tolist(),
          "agreement", (pred.numpy() == test.y.astype(int)).mean())


main()
