"""Images in H x W x C order, moved with permute, then flattened on purpose for a linear layer."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
raw = rng.integers(0, 256, (400, 6, 6, 3), dtype=np.uint8)
target = (raw[..., 0].mean((1, 2)) > raw[..., 2].mean((1, 2))).astype(np.int64)
x = torch.from_numpy(raw).permute(0, 3, 1, 2).float().sub(127.5).div(73.9)
y = torch.from_numpy(target)

torch.manual_seed(0)
net = nn.Sequential(nn.Flatten(), nn.Linear(108, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-3)
for epoch in range(25):
    for idx in torch.randperm(300).split(30):
        loss = nn.functional.cross_entropy(net(x[idx].reshape(len(idx), -1)), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 8 == 0:
        print(epoch, round(loss.item(), 4))
with torch.no_grad():
    print("accuracy", round((net(x[300:]).argmax(1) == y[300:]).float().mean().item(), 3))
