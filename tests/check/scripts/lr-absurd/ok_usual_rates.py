"""Usual rates, among them large ones that are right for the problem, and weights that begin at zero."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x.sum(1) > 0).long()
for make in (
    lambda p: torch.optim.SGD(p, lr=1.0),
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: torch.optim.Adam(p, lr=0.05),
    lambda p: torch.optim.AdamW(p, lr=1e-3),
    lambda p: torch.optim.Adadelta(p, lr=1.0),
):
    model = nn.Linear(6, 2)
    nn.init.zeros_(model.weight)
    optimizer = make(model.parameters())
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(type(optimizer).__name__, loss.item())
