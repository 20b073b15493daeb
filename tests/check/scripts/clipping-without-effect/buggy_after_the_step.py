"""A training function clips what the optimizer has used already."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def train(rows, wanted):
    loss = nn.functional.mse_loss(model(rows), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)  # <- finding
    return loss.item()


for epoch in range(3):
    print(epoch, [train(a, b) for a, b in zip(x.split(16), y.split(16))][-1])
