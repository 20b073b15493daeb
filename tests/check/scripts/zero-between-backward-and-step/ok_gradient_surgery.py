"""One backward per task, gradients collected, cleared in between and projected before the step; and a saliency map."""

import torch
from torch import nn

torch.manual_seed(0)
body, heads = nn.Linear(5, 8), nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
optimizer = torch.optim.Adam([*body.parameters(), *heads.parameters()], lr=0.01)
x, targets = torch.randn(16, 5), torch.randn(2, 16, 1)
for _ in range(4):
    collected = []
    for head, target in zip(heads, targets):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(torch.tanh(body(x))), target)
        loss.backward()
        collected.append([p.grad.clone() for p in body.parameters()])
    for p, a, b in zip(body.parameters(), *collected):
        overlap = (a * b).sum()
        p.grad = a + b - (overlap / b.norm() ** 2 * b if overlap < 0 else 0)
    optimizer.step()

image = torch.randn(1, 5, requires_grad=True)
heads[0](torch.tanh(body(image))).sum().backward()
print(image.grad.abs().argmax().item())
optimizer.zero_grad()
optimizer.step()
