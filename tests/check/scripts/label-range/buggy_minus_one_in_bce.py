"""Labels of -1 and 1, as for a support vector machine, in a loss that wants 0 and 1."""

import torch
from torch import nn


def train(model, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        scores = model(x).squeeze(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
x = torch.randn(30, 4)
y = torch.sign(x[:, 0])  # <- finding
print(train(nn.Linear(4, 1), x, y, 5))
