import copy
import torch
import torch.nn as nn

torch.manual_seed(2)


class MeanTeacher:
    def __init__(self, student, decay=0.98):
        self.student = student
        self.teacher = copy.copy(student)  # BUG param-shared
        self.decay = decay

    @torch.no_grad()
    def update(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(self.decay).add_(s, alpha=1 - self.decay)

    def consistency(self, x):
        with torch.no_grad():
            goal = self.teacher(x).softmax(1)
        return (self.student(x + 0.1 * torch.randn_like(x)).softmax(1) - goal).pow(2).mean()


student = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
mt = MeanTeacher(student)
opt = torch.optim.SGD(student.parameters(), lr=0.3)
W = torch.randn(5, 3) * 2
for step in range(300):
    x = torch.randn(24, 5)
    y = (x @ W).argmax(1)
    y = torch.where(torch.rand(24) < 0.3, torch.randint(0, 3, (24,)), y)
    loss = nn.functional.cross_entropy(student(x), y) + mt.consistency(torch.randn(48, 5))
    opt.zero_grad()
    loss.backward()
    opt.step()
    mt.update()
x = torch.randn(1000, 5)
y = (x @ W).argmax(1)
with torch.no_grad():
    for name, m in (("student", student), ("teacher", mt.teacher)):
        print(name, "acc", round((m(x).argmax(1) == y).float().mean().item(), 3))
    gap = max((a - b).abs().max().item() for a, b in zip(student.parameters(), mt.teacher.parameters()))
print("largest difference of the two networks", round(gap, 4))
