"""Distillation of a wide network into a small one."""

import torch
import torch.nn.functional as F
from torch import nn


def net(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 5))


def distill(student_logits, teacher_logits, T=2.0):
    soft = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(student_logits / T, soft, reduction="batchmean") * T * T  # BUG logits-as-probs


torch.manual_seed(0)
teacher, student = net(64), net(8)
x = torch.randn(256, 10)
y = x[:, :5].argmax(1)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(20):
    loss = F.cross_entropy(teacher(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher.eval()
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for epoch in range(5):
    for xb, yb in zip(x.split(64), y.split(64)):
        with torch.no_grad():
            t = teacher(xb)
        s = student(xb)
        loss = 0.3 * F.cross_entropy(s, yb) + 0.7 * distill(s, t)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3))
