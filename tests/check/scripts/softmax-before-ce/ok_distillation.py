"""The teacher's softmax is the target, which may be probabilities; the student's input are logits."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(32, 8)
for _ in range(5):
    with torch.no_grad():
        soft = F.softmax(teacher(x) / 2.0, dim=1)
    loss = F.cross_entropy(student(x) / 2.0, soft) + F.kl_div(F.log_softmax(student(x), dim=1), soft, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
