import copy

import torch
from torch import nn

torch.manual_seed(27)
x = torch.randn(400, 6)
y = torch.cos(x[:, :1]) + 0.1 * torch.randn(400, 1)
model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
best_loss = float("inf")
best_state = copy.deepcopy(model.state_dict())
for epoch in range(10):
    model.train()
    for i in torch.randperm(300).split(50):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[i]), y[i]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(x[300:]), y[300:]).item()
    if val_loss < best_loss:
        best_loss = val_loss
        best_state = copy.deepcopy(model.state_dict())
    print(epoch, val_loss)
model.load_state_dict(best_state)
