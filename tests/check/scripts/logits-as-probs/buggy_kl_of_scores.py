"""Distillation with kl_div where the student's scores are not put through log_softmax."""

import torch
import torch.nn.functional as F
from torch import nn


def distill(student_out, teacher_out, temperature=2.0):
    soft = F.softmax(teacher_out / temperature, dim=-1)
    return F.kl_div(student_out / temperature, soft, reduction="batchmean") * temperature**2  # <- finding


torch.manual_seed(0)
teacher, student = nn.Linear(6, 4), nn.Linear(6, 4)
teacher.requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
x = torch.randn(24, 6)
for _ in range(4):
    loss = distill(student(x), teacher(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
