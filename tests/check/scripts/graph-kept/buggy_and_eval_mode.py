"""Two mistakes of two kinds meet in one loop: losses are kept with their graphs, and the mode is never set back."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
history = []
for _ in range(3):
    for _ in range(10):
        x, y = torch.randn(16, 10), torch.randint(0, 3, (16,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss)  # <- finding
    model.eval()  # <- finding: train-in-eval-mode
    with torch.no_grad():
        F.cross_entropy(model(torch.randn(50, 10)), torch.randint(0, 3, (50,))).item()
