"""The teacher's probabilities are taken where its scores were meant."""

import torch
import torch.nn.functional as F
from torch import nn


class Served:
    def __init__(self, net):
        self.net = net.eval()

    @torch.no_grad()
    def predict(self, x):
        return F.softmax(self.net(x), dim=-1)

    @torch.no_grad()
    def score(self, x):
        return self.net(x)


def kd_loss(student, teacher, T=2.0):
    return F.kl_div(F.log_softmax(student / T, -1), F.softmax(teacher / T, -1), reduction="batchmean") * T * T


def fit(net, target, steps, loss_fn, x):
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        idx = torch.randint(0, len(x), (100,))
        loss = loss_fn(net(x[idx]), target(x, idx))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(0)
x = torch.randn(800, 4)
y = (x[:, 0] > 0).long() * 2 + (x[:, 1] * x[:, 2] > 0).long()
teacher_net = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 4))
print("teacher loss", round(fit(teacher_net, lambda _, i: y[i], 250, F.cross_entropy, x), 4))
teacher = Served(teacher_net)
student = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 4))
print("distillation loss", round(fit(student, lambda d, i: teacher.predict(d[i]), 300, kd_loss, x), 4))  # <- finding
with torch.no_grad():
    p = student(x).softmax(-1)
print("student accuracy", round((p.argmax(1) == y).float().mean().item(), 3))
print("student confidence", round(p.max(1).values.mean().item(), 3), "nll", round(F.nll_loss(p.log(), y).item(), 3))
