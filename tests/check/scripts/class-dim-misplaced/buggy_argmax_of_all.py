"""An accuracy whose `argmax` gives one place for the whole batch."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(96, 6)
y = x[:, :3].argmax(1)
model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(4):
    for rows, labels in zip(x.split(32), y.split(32)):
        loss = nn.functional.cross_entropy(model(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        chosen = model(x).argmax()  # <- finding
        print(epoch, (chosen == y).float().mean().item())
