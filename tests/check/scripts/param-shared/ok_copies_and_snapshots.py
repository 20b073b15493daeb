"""Copies that are copies, a best model chosen among several, and a name that is made anew before each training."""

import copy

import torch
from torch import nn


def train(width):
    model = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))
    target = copy.deepcopy(model)
    best_state = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(6):
        x = torch.randn(16, 4)
        with torch.no_grad():
            goal = x.sum(1, keepdim=True) + 0.1 * target(x)
        loss = nn.functional.mse_loss(model(x), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 3:
            best_state = {name: value.clone() for name, value in model.state_dict().items()}
            target.load_state_dict(model.state_dict())
    model.load_state_dict(best_state)
    return loss.item(), model


torch.manual_seed(0)
lowest = float("inf")
for width in (4, 8):
    loss, model = train(width)
    if loss < lowest:
        lowest, best_model = loss, model
print(lowest, best_model(torch.ones(1, 4)).item())
