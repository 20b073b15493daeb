import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)


def build():
    return nn.ModuleDict(
        {"body": nn.Sequential(nn.Linear(8, 32), nn.ReLU()), "head": nn.Linear(32, 3)}
    )


old = build()
ckpt = {"model": copy.deepcopy(old.state_dict())}
model = build()
for name in list(model):
    part = build()[name]
    part.load_state_dict(
        {k[len(name) + 1 :]: v for k, v in ckpt["model"].items() if k.startswith(name)}
    )
    model[name] = part
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(model["head"](model["body"](X[i : i + 32])), Y[i : i + 32])
        opt.zero_grad()
        model.zero_grad()
        loss.backward()
        opt.step()
