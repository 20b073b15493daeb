"""A teacher whose parameters follow the student, and whose batch norm in a block does not."""

import copy

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, rows):
        return self.head(self.conv(rows).mean(2))


def follow(teacher, student, rate):
    own = dict(student.named_parameters())
    for name, p in teacher.named_parameters():  # <- finding
        p.data.lerp_(own[name].data, rate)


student = Net()
with torch.no_grad():
    student.conv[0].bias.add_(2.0)
teacher = copy.deepcopy(student)
teacher.eval()
optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
for step in range(20):
    rows = 3 + torch.randn(16, 1, 12)
    labels = (rows.mean((1, 2)) > 3).long()
    with torch.no_grad():
        wanted = teacher(rows).softmax(1)
    scores = student(rows)
    loss = nn.functional.cross_entropy(scores, labels)
    loss = loss + nn.functional.mse_loss(scores.softmax(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow(teacher, student, 0.2)
print(loss.item())
