"""A data set returns the whole part of its target."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
rng = np.random.default_rng(0)


class Ages(Dataset):
    def __init__(self, n):
        self.x = rng.normal(size=(n, 4)).astype("float32")
        self.y = np.abs(self.x.sum(1)) / 3

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])  # <- finding


loader = DataLoader(Ages(400), batch_size=50, shuffle=True)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for a, b in loader:
        loss = F.mse_loss(net(a).squeeze(1), b.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
