"""Early stopping; the model is put into eval mode for the check."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x, x_val = torch.randn(90, 6) * 3 + 5, torch.randn(40, 6) * 3 + 5
y, y_val = x[:, :2].argmax(1), x_val[:, :2].argmax(1)
model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
best, best_loss, patience = None, float("inf"), 3

for epoch in range(8):
    model.train()
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.cross_entropy(model(x_val), y_val).item()
    if val_loss < best_loss:
        best, best_loss = copy.deepcopy(model.state_dict()), val_loss
    else:
        patience -= 1
        if patience == 0:
            break
print("best", round(best_loss, 4), "batches seen", int(model[1].num_batches_tracked))
