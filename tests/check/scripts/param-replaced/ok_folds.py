"""Cross-validation: a new model and a new optimizer for each fold; an ensemble; weights that are loaded, cast and re-initialized in place."""

import torch
from torch import nn


def fit(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randn(24, 1)
for fold in range(3):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    keep = torch.arange(24) % 3 != fold
    print(fit(model, x[keep], y[keep]))

members = [nn.Linear(4, 1) for _ in range(3)]
print([fit(member, x, y) for member in members])

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.load_state_dict(members[0].state_dict())
nn.init.xavier_uniform_(model.weight)
model.weight.data = model.weight.data / 2
model.to(torch.float32)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
