"""Distillation: the teacher is frozen and evaluated under no_grad on purpose; only the student learns."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
X = torch.randn(800, 10)
y = (X[:, 0] * X[:, 1] > 0).long()
teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 2))
opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(250):
    opt.zero_grad()
    F.cross_entropy(teacher(X[:600]), y[:600]).backward()
    opt.step()
teacher.eval().requires_grad_(False)

student = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
T = 2.0
for step in range(300):
    idx = torch.randint(0, 600, (64,))
    with torch.no_grad():
        soft = F.softmax(teacher(X[idx]) / T, dim=1)
    kd = F.kl_div(F.log_softmax(student(X[idx]) / T, dim=1), soft, reduction="batchmean") * T * T
    loss = 0.7 * kd + 0.3 * F.cross_entropy(student(X[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        print(f"{step + 1}: loss {loss.item():.4f}")
with torch.no_grad():
    for name, m in (("teacher", teacher), ("student", student)):
        print(name, (m(X[600:]).argmax(1) == y[600:]).float().mean().item())
