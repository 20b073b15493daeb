"""The same function runs epochs with and without an optimizer; who validates turns the gradients off, and not the dropout."""

import torch
from torch import nn


def epoch_of(model, x, y, optimizer=None):
    right = 0
    for rows in torch.arange(len(x)).split(10):
        out = model(x[rows])
        if optimizer is not None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(out, y[rows]).backward()
            optimizer.step()
        right += (out.argmax(1) == y[rows]).sum().item()
    return right / len(x)


torch.manual_seed(0)
x, y = torch.randn(60, 5), torch.randint(0, 2, (60,))
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    trained = epoch_of(model, x[:40], y[:40], optimizer)
    with torch.no_grad():
        held_out = epoch_of(model, x[40:], y[40:])  # <- finding
    print(epoch, trained, held_out)
