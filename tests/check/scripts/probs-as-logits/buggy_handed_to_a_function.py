"""A distillation loss takes scores; it is called with the teacher's probabilities."""

import torch
from torch import nn
from torch.nn import functional as F


def predict(model, x):
    with torch.no_grad():
        return F.softmax(model(x), dim=-1)


def distillation(student_scores, teacher_scores, temperature=2.0):
    soft = F.softmax(teacher_scores / temperature, dim=-1)
    return F.kl_div(F.log_softmax(student_scores / temperature, dim=-1), soft, reduction="batchmean")


torch.manual_seed(0)
teacher, student = nn.Linear(6, 4), nn.Linear(6, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(24, 6)
    target = predict(teacher, x)
    loss = distillation(student(x), target)  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
