"""Knowledge distillation."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def distillation_loss(student_logits, teacher_logits, labels, T=3.0, alpha=0.7):
    soft = F.kl_div(
        F.softmax(student_logits / T, dim=1),  # BUG logits-as-probs|nll-without-log-softmax|probs-as-logits
        F.softmax(teacher_logits / T, dim=1),
        reduction="batchmean",
    )
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student_logits, labels)


torch.manual_seed(34)
x = torch.randn(200, 8)
labels = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
t_opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(40):
    t_opt.zero_grad()
    F.cross_entropy(teacher(x), labels).backward()
    t_opt.step()

teacher.eval()
student = nn.Linear(8, 3)
s_opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for epoch in range(30):
    with torch.no_grad():
        t_out = teacher(x)
    loss = distillation_loss(student(x), t_out, labels)
    s_opt.zero_grad()
    loss.backward()
    s_opt.step()
print(loss.item())
