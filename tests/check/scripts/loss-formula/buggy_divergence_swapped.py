import torch
import torch.nn as nn
import torch.nn.functional as F


class Big(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, x):
        return self.net(x)


class Small(nn.Linear):
    def __init__(self):
        super().__init__(8, 5)


class Distiller:
    def __init__(self, teacher, student, temperature=2.0):
        self.teacher, self.student, self.t = teacher.eval(), student, temperature
        self.opt = torch.optim.Adam(student.parameters(), lr=5e-3)

    def step(self, x):
        with torch.no_grad():
            teacher = self.teacher(x) / self.t
        student = self.student(x) / self.t
        loss = F.kl_div(F.log_softmax(teacher, 1), F.softmax(student, 1), reduction="batchmean")  # <- finding
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(6)
x = torch.randn(500, 8)
y = (x[:, :5] + 0.3 * x[:, 3:8]).argmax(1)
teacher = Big()
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for _ in range(150):
    loss = F.cross_entropy(teacher(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
distiller = Distiller(teacher, Small())
for epoch in range(10):
    losses = [distiller.step(part) for part in x[torch.randperm(500)].split(50)]
print(sum(losses) / len(losses), (distiller.student(x).argmax(1) == y).float().mean().item())
