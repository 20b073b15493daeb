"""A teacher that was trained before is part of the system, and of its optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
F = nn.functional


class Distiller(nn.Module):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher, self.student = teacher, student

    def forward(self, x):
        wanted = self.teacher(x)  # <- finding
        given = self.student(x)
        return F.kl_div(given.log_softmax(-1), wanted.softmax(-1), reduction="batchmean")


x, y = torch.randn(96, 5), torch.randint(0, 3, (96,))
teacher = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for step in range(6):
    optimizer.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    optimizer.step()
system = Distiller(teacher, nn.Linear(5, 3))
optimizer = torch.optim.Adam(system.parameters(), lr=1e-2)
for rows in torch.randperm(96).split(12):
    optimizer.zero_grad()
    loss = system(x[rows])
    loss.backward()
    optimizer.step()
print(loss.item())
