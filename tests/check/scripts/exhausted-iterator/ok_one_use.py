"""Generators that only the optimizer goes through, and another one of the same name."""

import torch
from torch import nn

torch.manual_seed(0)


def fit(model, rate):
    params = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.Adam(params, lr=rate)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        params = model.parameters()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
    return loss.item()


print(fit(nn.Linear(4, 1), 0.01), fit(nn.Linear(4, 1), 0.1))
