import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
accum = 4
for epoch in range(4):
    for n, i in enumerate(range(0, 256, 16)):
        opt.zero_grad()  # BUG zero-between-backward-and-step|missing-zero-grad|accumulation-not-scaled
        loss = F.cross_entropy(net(X[i : i + 16]), Y[i : i + 16]) / accum
        loss.backward()
        if (n + 1) % accum == 0:
            opt.step()
            pass
