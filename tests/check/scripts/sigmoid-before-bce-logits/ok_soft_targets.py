"""A teacher's sigmoid is the target; an averaged probability goes back through logit before the loss."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher, student = nn.Linear(6, 3), nn.Linear(6, 3)
second = nn.Linear(6, 3)
optimizer = torch.optim.SGD([*student.parameters(), *second.parameters()], lr=0.1)
x = torch.randn(16, 6)
for _ in range(5):
    with torch.no_grad():
        soft = torch.sigmoid(teacher(x))
    mixed = 0.5 * (torch.sigmoid(student(x)) + torch.sigmoid(second(x)))
    loss = F.binary_cross_entropy_with_logits(student(x), soft)
    loss = loss + F.binary_cross_entropy_with_logits(torch.logit(mixed, eps=1e-6), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
