import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
x = torch.randn(500, 10)
y = (x @ torch.randn(10, 4)).argmax(1)


def net(h):
    return nn.Sequential(nn.Linear(10, h), nn.ReLU(), nn.Linear(h, 4))


teacher, student = net(64), net(8)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(120):
    opt.zero_grad()
    F.cross_entropy(teacher(x[:400]), y[:400]).backward()
    opt.step()
teacher.eval()
T = 3.0
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for it in range(200):
    with torch.no_grad():
        soft = F.softmax(teacher(x[:400]) / T, dim=-1)
    out = student(x[:400])
    # cross entropy accepts class probabilities as target
    loss = T * T * F.cross_entropy(out / T, soft) + 0.3 * F.cross_entropy(out, y[:400])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    for n, m in (("teacher", teacher), ("student", student)):
        print(n, round((m(x[400:]).argmax(1) == y[400:]).float().mean().item(), 3))
