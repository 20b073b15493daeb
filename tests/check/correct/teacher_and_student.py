"""Distillation from a trained, frozen teacher with dropout; the student learns from soft targets and from labels."""

import torch
import torch.nn.functional as F
from torch import nn


def network(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, :3] + 0.3 * torch.randn(256, 3)).argmax(dim=1)
x_val, y_val = x[192:], y[192:]
x, y = x[:192], y[:192]
teacher, student = network(64), network(8)
optimizer = torch.optim.Adam(teacher.parameters(), lr=0.01)
for _ in range(20):
    teacher.train()
    loss = F.cross_entropy(teacher(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("teacher", accuracy(teacher, x_val, y_val))
teacher.requires_grad_(False)
teacher.eval()
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
temperature = 2.0
for _ in range(20):
    student.train()
    logits = student(x)
    with torch.no_grad():
        soft = F.softmax(teacher(x) / temperature, dim=-1)
    distance = F.kl_div(F.log_softmax(logits / temperature, dim=-1), soft, reduction="batchmean") * temperature**2
    loss = 0.5 * F.cross_entropy(logits, y) + 0.5 * distance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("student", accuracy(student, x_val, y_val))
