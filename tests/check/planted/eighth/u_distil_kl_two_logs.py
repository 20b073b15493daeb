# Distillation: a small student learns from a wide teacher
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 4))


def soften(scores, temperature=3.0):
    return F.log_softmax(scores / temperature, dim=1)


torch.manual_seed(16)
y = torch.randint(0, 4, (400,))
x = torch.randn(4, 10)[y] * 1.5 + torch.randn(400, 10)
teacher, student = mlp(128), mlp(8)
opt = torch.optim.Adam(teacher.parameters(), lr=0.01)
for _ in range(40):
    opt.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt.step()
teacher.eval()
opt = torch.optim.Adam(student.parameters(), lr=0.01)
for epoch in range(6):
    for rows in torch.randperm(400).split(50):
        with torch.no_grad():
            goal = soften(teacher(x[rows]))
        loss = F.kl_div(soften(student(x[rows])), goal, reduction="batchmean") * 9  # BUG logits-as-probs|nan-born
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
