"""Labels of made-up rows are drawn, not rows."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
centers = rng.normal(size=(3, 4)).astype(np.float32) * 3


def rows(labels):
    return torch.from_numpy(centers[labels] + rng.normal(size=(len(labels), 4)).astype(np.float32))


train_labels = rng.choice(3, 120)
test_labels = rng.choice(3, 60)
x, x_test = rows(train_labels), rows(test_labels)
y, y_test = torch.from_numpy(train_labels), torch.from_numpy(test_labels)
model = nn.Linear(4, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        print((model(x_test).argmax(1) == y_test).float().mean().item())
