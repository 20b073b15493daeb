"""Validation puts both parts into eval mode, and only one of them back."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

body = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2))
head = nn.Linear(32, 3)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-2)


def validate():
    body.eval()
    head.eval()
    with torch.no_grad():
        hits = (head(body(X[192:])).argmax(1) == Y[192:]).float().mean().item()
    head.train()  # <- finding
    return hits


for epoch in range(4):
    for i in range(0, 192, 32):
        loss = F.cross_entropy(head(body(X[i : i + 32])), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(validate())
