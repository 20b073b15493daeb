"""Gradients of four batches make one update."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(140, 5)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
accumulate, updates = 4, 0
for epoch in range(4):
    opt.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(xb), yb) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            opt.step()
            opt.zero_grad()
            updates += 1
print("updates", updates, "of", 4 * -(-len(loader) // accumulate))
