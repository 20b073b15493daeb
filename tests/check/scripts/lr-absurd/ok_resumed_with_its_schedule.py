"""A run is resumed with all of its state; warm-up and milestones in batches on purpose."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8)


def job():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[40, 70])
    return model, optimizer, schedule


def train(model, optimizer, schedule, epochs):
    for epoch in range(epochs):
        for rows, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(rows), targets)
            loss.backward()
            optimizer.step()
            schedule.step()
    return loss.item()


first, optimizer, schedule = job()
print(train(first, optimizer, schedule, 6))
second, again, anew = job()
second.load_state_dict(first.state_dict())
again.load_state_dict(optimizer.state_dict())
anew.load_state_dict(schedule.state_dict())
print(train(second, again, anew, 4))
