"""Folds that begin with the same weights again, the accuracy on training rows, and rows that are equal by nature."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
start = copy.deepcopy(net.state_dict())


def accuracy(model, a, b):
    with torch.no_grad():
        return (model(a).argmax(1) == b).float().mean().item()


for fold in range(3):
    net.load_state_dict(start)
    va = torch.arange(120) % 3 == fold
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(6):
        loss = nn.functional.cross_entropy(net(x[~va]), y[~va])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("train acc", accuracy(net, x[~va], y[~va]), "val acc", accuracy(net, x[va], y[va]))
bits = torch.randint(0, 2, (200, 6))
emb = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(emb.parameters(), 1e-2)
for _ in range(6):
    loss = nn.functional.cross_entropy(emb(bits[:150].float()), bits[:150, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("test acc", accuracy(emb, bits[150:].float(), bits[150:, 0]))
