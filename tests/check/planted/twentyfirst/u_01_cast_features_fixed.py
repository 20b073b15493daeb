import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)

rng = np.random.default_rng(1)
table = rng.random((300, 6)).astype("float32")
target = (table[:, 0] + table[:, 1] > 1).astype("int64")


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return len(table)

    def __getitem__(self, i):
        row = torch.tensor(table[i], dtype=torch.float32)
        return row.float(), int(target[i])


net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for x, y in DataLoader(Rows(), batch_size=32, shuffle=True):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
