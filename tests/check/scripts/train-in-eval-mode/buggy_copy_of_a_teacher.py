"""A student is copied from a teacher in eval mode, and keeps that mode."""

import copy

import torch
from torch import nn


def score(model, x, y):
    before = model.training
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train(before)
    return right


torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
teacher = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
teacher.eval()
student = copy.deepcopy(teacher)  # <- finding
print(score(student, x, y))
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(6):
    loss = nn.functional.cross_entropy(student(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(score(student, x, y))
