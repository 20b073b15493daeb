"""Accuracies of the batches in a list, averaged by NumPy."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x, y = torch.randn(70, 5), torch.randint(0, 3, (70,))
x_train, y_train, x_test, y_test = x[:40], y[:40], x[40:], y[40:]
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for start in range(0, 40, 10):
    loss = F.cross_entropy(net(x_train[start : start + 10]), y_train[start : start + 10])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

accuracies = []
with torch.no_grad():
    for start in range(0, len(x_test), 16):
        predicted = net(x_test[start : start + 16]).argmax(dim=1)
        accuracy = (predicted == y_test[start : start + 16]).float().mean()
        accuracies.append(accuracy.item())
print("test accuracy", np.mean(accuracies))  # <- finding
