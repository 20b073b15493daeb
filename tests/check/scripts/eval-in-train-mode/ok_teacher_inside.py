"""The teacher is a part of the student, and stays in eval mode; a noisy average as a second teacher never was."""

import copy

import torch
from torch import nn


class Distilled(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
        self.teacher = teacher.requires_grad_(False).eval()
        self.average = copy.deepcopy(self.student).requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            wanted, noisy = self.teacher(x), self.average(x)
        made = self.student(x)
        return nn.functional.mse_loss(made, wanted) + 0.1 * nn.functional.mse_loss(made, noisy)


torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
model = Distilled(teacher)
optimizer = torch.optim.SGD(model.student.parameters(), lr=0.05)
x = torch.randn(64, 6)
model.train()
for rows in torch.arange(64).split(8):
    loss = model(x[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(model.average.parameters(), model.student.parameters()):
            slow.lerp_(fast, 0.1)
print(loss.item())
