"""Predictions and losses of all steps are kept, each in a place of its own."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    predictions, targets, losses = [], [], {}
    for step in range(8):
        x = torch.randn(5, 3)
        y = x.sum(dim=1, keepdim=True)
        out = net(x)
        loss = ((out - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        predictions.append(out)  # <- finding
        targets.append(y)
        losses[step] = loss  # <- finding
    error = (torch.cat(predictions) - torch.cat(targets)).abs().mean()
    print(error.item(), min(losses.values()).item())


main()
