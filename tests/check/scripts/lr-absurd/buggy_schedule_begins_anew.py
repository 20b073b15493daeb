"""A run is resumed with the state of its optimizer, and without that of its schedule."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)


def job():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 40))
    return model, optimizer, schedule


def train(model, optimizer, schedule, steps):
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
    return loss.item()


first, optimizer, schedule = job()
print(train(first, optimizer, schedule, 30))
second, again, anew = job()
second.load_state_dict(first.state_dict())
again.load_state_dict(optimizer.state_dict())  # <- finding
print(train(second, again, anew, 10))
