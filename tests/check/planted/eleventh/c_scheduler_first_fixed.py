"""Training where the schedule stands at the head of the epoch."""

import warnings

import torch
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR

warnings.simplefilter("ignore")


def run(epochs=4):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
    x = torch.randn(90, 5)
    y = x[:, :3].argmax(1)
    used = []
    for epoch in range(epochs):
        used.append(round(optimizer.param_groups[0]["lr"], 6))
        for xb, yb in zip(x.split(30), y.split(30)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
        scheduler.step()
    return used, loss.item()


print(run())
