import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
T = 3.0
x_all = torch.randn(600, 10)
y_all = (x_all[:, :4] * torch.tensor([1.0, 2.0, -1.0, 0.5])).argmax(1)


def mlp(h):
    return nn.Sequential(nn.Linear(10, h), nn.ReLU(), nn.Linear(h, 4))


def distillation_loss(student_logits, teacher_logits, labels, alpha=0.9):
    hard = F.cross_entropy(student_logits, labels)
    soft_student = F.log_softmax(student_logits / T, dim=1)
    soft_teacher = F.log_softmax(teacher_logits / T, dim=1)  # BUG logits-as-probs
    soft = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * T * T  # BUG logits-as-probs
    return alpha * soft + (1 - alpha) * hard


teacher = mlp(64)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(100):
    loss = F.cross_entropy(teacher(x_all), y_all)
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher.eval()

student = mlp(8)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for epoch in range(10):
    for idx in torch.randperm(600).split(60):
        with torch.no_grad():
            t = teacher(x_all[idx])
        loss = distillation_loss(student(x_all[idx]), t, y_all[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    acc = (student(x_all).argmax(1) == y_all).float().mean().item()
    print(epoch, loss.item(), acc)
