"""The model is made again for the second run, the optimizer is not."""

import torch
from torch import nn


def make_model():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def main():
    torch.manual_seed(0)
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    print(sum(p.numel() for p in model.parameters()))
    model = make_model()  # <- finding
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
