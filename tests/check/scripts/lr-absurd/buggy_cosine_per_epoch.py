"""A cosine over all steps that is stepped once per epoch, in a function."""

import torch
from torch import nn


def train(epochs=6, size=8):
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * 64 // size)
    for epoch in range(epochs):
        for rows in torch.randperm(64).split(size):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        cosine.step()  # <- finding
        print(epoch, loss.item())


train()
