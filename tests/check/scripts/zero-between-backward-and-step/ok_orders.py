"""Three orders that are all right."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for order in ("before the forward", "before the backward", "after the step"):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        if order == "before the forward":
            optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        if order == "before the backward":
            model.zero_grad(set_to_none=False)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if order == "after the step":
            for p in model.parameters():
                p.grad = None
    print(order, loss.item())
