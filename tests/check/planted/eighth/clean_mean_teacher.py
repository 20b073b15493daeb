# Mean teacher: its weights follow the student's, no gradient reaches it
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
student = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
x = torch.randn(400, 6)
y = (x[:, 0] > 0).long()
for step in range(80):
    a = torch.randint(0, 40, (20,))
    u = torch.randint(0, 400, (60,))
    with torch.no_grad():
        goal = F.softmax(teacher(x[u] + 0.1 * torch.randn(60, 6)), 1)
    consistency = F.mse_loss(F.softmax(student(x[u] + 0.1 * torch.randn(60, 6)), 1), goal)
    loss = F.cross_entropy(student(x[a]), y[a]) + consistency
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, 0.05)
print((teacher(x).argmax(1) == y).float().mean().item())
