"""Knowledge distillation with temperature."""
import torch
from torch import nn
import torch.nn.functional as F


class Distiller:
    def __init__(self, teacher, student, temperature=3.0, alpha=0.7):
        self.teacher, self.student = teacher.eval(), student
        self.t, self.alpha = temperature, alpha

    def soften(self, logits):
        return F.softmax(logits / self.t, dim=-1)

    def loss(self, x, y):
        with torch.no_grad():
            target = self.soften(self.teacher(x))
        logits = self.student(x)
        soft = F.kl_div(F.log_softmax(logits / self.t, dim=-1), target, reduction="batchmean") * self.t ** 2
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(logits, y)


def fit(params, loss_fn, x, y, epochs, lr):
    opt = torch.optim.Adam(params, lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(50):
            loss = loss_fn(x[idx], y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total)


torch.manual_seed(1)
centers = torch.randn(8, 10)
y = torch.randint(0, 8, (800,))
x = centers[y] + 0.7 * torch.randn(800, 10)
teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 8))
fit(teacher.parameters(), lambda a, b: F.cross_entropy(teacher(a), b), x, y, 3, 3e-3)
student = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 8))
distiller = Distiller(teacher, student)
fit(student.parameters(), distiller.loss, x, y, 4, 5e-3)
with torch.no_grad():
    print("student acc", (student(x).argmax(-1) == y).float().mean().item())
