"""The teacher is a part of the student, whose `train()` reaches it, too."""

import torch
from torch import nn


class Distilled(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.student = nn.Linear(6, 3)
        self.teacher = teacher.requires_grad_(False).eval()

    def forward(self, x):
        with torch.no_grad():
            wanted = self.teacher(x)
        return nn.functional.mse_loss(self.student(x), wanted)


torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
model = Distilled(teacher)
optimizer = torch.optim.SGD(model.student.parameters(), lr=0.05)
x = torch.randn(64, 6)
model.train()  # <- finding
for rows in torch.arange(64).split(8):
    loss = model(x[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
