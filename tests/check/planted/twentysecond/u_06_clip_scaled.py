import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for epoch in range(4):
    for i in range(0, 256, 32):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(X[i : i + 32]), Y[i : i + 32])
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(
            net.parameters(), 1.0
        )  # BUG clipping-without-effect|exploding-gradient
        scaler.step(opt)
        scaler.update()
