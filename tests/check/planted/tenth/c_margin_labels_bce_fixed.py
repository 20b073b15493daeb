"""A linear classifier; labels come from an SVM file."""

import numpy as np
import torch
from torch import nn


def read(n=150):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, 5))
    y = np.sign(x @ np.array([1.0, -2.0, 0.5, 0.0, 1.0]))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def train(model, x, y, epochs=10, lr=0.1):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    loss_fn = nn.BCEWithLogitsLoss()
    y = (y + 1) / 2
    for epoch in range(epochs):
        for i in range(0, len(x), 30):
            out = model(x[i : i + 30]).squeeze(1)
            loss = loss_fn(out, y[i : i + 30])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(0)
x, y = read()
print("loss", round(train(nn.Linear(5, 1), x, y), 3))
