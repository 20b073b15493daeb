"""A schedule has taken the rate down to nothing, and the checkpoint brings it back."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 6)


def train(model, optimizer, sign, scheduler=None):
    for _ in range(80):
        rows = torch.randint(256, (32,))
        loss = nn.functional.mse_loss(model(x[rows]), sign * x[rows, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return loss.item()


model = nn.Linear(6, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
print(train(model, optimizer, 1.0, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 80, eta_min=1e-8)))
state = optimizer.state_dict()
again = torch.optim.Adam(model.parameters(), lr=0.02)
again.load_state_dict(state)  # <- finding
print(train(model, again, -1.0))
