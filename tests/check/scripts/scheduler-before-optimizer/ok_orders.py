"""After each epoch, after each step, and by the validation loss before the next epoch."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for kind in ("epoch", "step", "plateau"):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    lr = torch.optim.lr_scheduler
    scheduler = {
        "epoch": lambda: lr.StepLR(optimizer, 1, gamma=0.5),
        "step": lambda: lr.OneCycleLR(optimizer, max_lr=0.1, total_steps=12),
        "plateau": lambda: lr.ReduceLROnPlateau(optimizer, patience=0),
    }[kind]()
    for epoch in range(3):
        if kind == "plateau":
            with torch.no_grad():
                scheduler.step(nn.functional.mse_loss(model(x), y))
        for k in range(0, 32, 8):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[k : k + 8]), y[k : k + 8]).backward()
            optimizer.step()
            if kind == "step":
                scheduler.step()
        if kind == "epoch":
            scheduler.step()
    print(kind, optimizer.param_groups[0]["lr"])
