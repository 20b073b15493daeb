"""Distillation of a wide teacher into a narrow student, cosine schedule per step."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


def mlp(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))


def data(n):
    x = torch.randn(n, 8)
    return x, (x[:, :4] + 0.5 * x[:, 4:]).argmax(1)


def fit_teacher(x, y):
    teacher = mlp(64)
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(40):
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
    return teacher.eval().requires_grad_(False)


def kd_loss(student_logits, teacher_logits, y, T=3.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(student_logits / T, 1), F.softmax(teacher_logits / T, 1), reduction="batchmean")
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student_logits, y)


x, y = data(480)
teacher = fit_teacher(x, y)
student = mlp(16)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
epochs, batch = 5, 60
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * 8)
for epoch in range(epochs):
    for idx in torch.randperm(len(x)).split(batch):
        with torch.no_grad():
            t = teacher(x[idx])
        loss = kd_loss(student(x[idx]), t, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, loss.item(), scheduler.get_last_lr()[0])
