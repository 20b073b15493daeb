"""House prices."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(5)
features = rng.normal(size=(300, 8)).astype("float32")
prices = (features @ rng.normal(size=8) * 0.5 + 2).astype("float32")

dataset = TensorDataset(torch.from_numpy(features), torch.from_numpy(prices))  # BUG loss-shape-mismatch|mutual-broadcast
loader = DataLoader(dataset, batch_size=30, shuffle=True)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(0)
net = Regressor()
criterion = nn.L1Loss()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    for xb, yb in loader:
        optim.zero_grad()
        out = net(xb)
        loss = criterion(out, yb)  # BUG loss-shape-mismatch|mutual-broadcast
        loss.backward()
        optim.step()
    print(epoch, float(loss))
