"""A loss, a score, and a loss that is turned round, each with its mode; a cosine over the epochs."""

import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
x_val = torch.randn(32, 6)
y_val = (x_val[:, 0] > 0).long()
for kind in ("loss", "score", "turned", "cosine"):
    model = nn.Linear(6, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    if kind == "cosine":
        scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
    else:
        mode = "min" if kind == "loss" else "max"
        scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, mode=mode, patience=1)
    for epoch in range(5):
        for rows in torch.randperm(64).split(8):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            scores = model(x_val)
            val_loss = nn.functional.cross_entropy(scores, y_val).item()
            accuracy = (scores.argmax(1) == y_val).float().mean().item()
        if kind == "cosine":
            scheduler.step()
        elif kind == "score":
            scheduler.step(accuracy)
        elif kind == "turned":
            scheduler.step(-val_loss)
        else:
            scheduler.step(val_loss)
    print(kind, val_loss)
