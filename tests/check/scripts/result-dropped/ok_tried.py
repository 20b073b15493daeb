"""Whether a shape fits is tried, and nothing else is asked."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 6)


def fits(rows, *shape):
    try:
        rows.view(-1, *shape)
    except RuntimeError:
        return False
    return True


width = 6 if fits(x, 6) and not fits(x, 7) else 1
model = nn.Linear(width, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x[:, :1]).backward()
    optimizer.step()
