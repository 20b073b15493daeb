import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

import io


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))


first = build()
buffer = io.BytesIO()
torch.save({"model": first.state_dict()}, buffer)
buffer.seek(0)
net = build()
net.load_state_dict(torch.load(buffer)["model"])
for m in net.modules():
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)  # BUG keys-ignored|result-dropped
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
