# Character classes; batches are shuffled with NumPy
import numpy as np
import torch
from torch import nn


def seed_everything(seed):
    torch.manual_seed(seed)


def batches(x, y, size):
    order = np.random.permutation(len(x))  # BUG nondeterminism
    for start in range(0, len(x), size):
        rows = order[start:start + size]
        yield x[rows], y[rows]


seed_everything(1234)  # BUG nondeterminism
y = torch.randint(0, 5, (300,))
x = torch.randn(300, 10)
x[torch.arange(300), y] += 2.0
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    for inputs, labels in batches(x, y, 30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
print("final loss", loss.item())
