import copy

import torch
from torch import nn

torch.manual_seed(18)
x = torch.randn(300, 8)
y = x[:, :2].prod(1, keepdim=True) + 0.2 * torch.randn(300, 1)
parts = torch.randperm(300).chunk(3)
scores = []
for fold in range(3):
    best, best_state = float("inf"), None
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    held = parts[fold]
    train = torch.cat([parts[k] for k in range(3) if k != fold])
    for epoch in range(6):
        for idx in train[torch.randperm(len(train))].split(25):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            value = nn.functional.mse_loss(model(x[held]), y[held]).item()
        if value < best:
            best, best_state = value, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(model(x[held]), y[held]).item())
    print(f"fold {fold} mse {scores[-1]:.4f}")
