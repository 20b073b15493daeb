"""Cross-validation: rows change sides from fold to fold, and every fold has a model of its own; small tables of yes and no."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(30, 4)
y = (x[:, 0] > 0).float()
answers = torch.randint(0, 2, (30, 4)).float()
for fold in range(3):
    held = torch.zeros(30, dtype=torch.bool)
    held[fold * 10 : fold * 10 + 10] = True
    model, second = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *second.parameters()], lr=0.1)
    for _ in range(3):
        loss = F.binary_cross_entropy_with_logits(model(x[~held]).squeeze(1), y[~held])
        loss = loss + F.mse_loss(second(answers[~held]).squeeze(1), y[~held])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = ((model(x[held]).squeeze(1) > 0) == y[held].bool()).float().mean()
        error = F.mse_loss(second(answers[held]).squeeze(1), y[held])
    print(fold, right.item(), error.item())
