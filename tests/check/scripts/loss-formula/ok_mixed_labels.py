import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
x, y = torch.randn(256, 10), torch.randint(0, 3, (256,))
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(4):
    for rows in torch.randperm(256).split(32):
        xb, yb = x[rows], y[rows]
        lam = float(rng.beta(1.0, 1.0))
        perm = torch.randperm(len(xb))
        mixed = lam * xb + (1 - lam) * xb[perm]
        out = model(mixed)
        loss = lam * ce(out, yb) + (1 - lam) * ce(out, yb[perm])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
