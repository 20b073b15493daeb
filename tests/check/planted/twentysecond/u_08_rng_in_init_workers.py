import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)


class Noisy(torch.utils.data.Dataset):
    def __init__(self, n):
        self.x = torch.linspace(-1, 1, n)
        self.rng = np.random.default_rng(7)  # BUG same-worker-seed

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        noise = self.rng.normal(size=4).astype("float32")
        return self.x[i] + torch.from_numpy(noise), self.x[i]


loader = DataLoader(Noisy(128), batch_size=16, num_workers=2, shuffle=True)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(2):
    for x, y in loader:
        loss = F.mse_loss(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
