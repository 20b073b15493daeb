import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, o))


class Distiller(nn.Module):
    def __init__(self, teacher, student, T=2.0):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.T = T

    def forward(self, x):
        with torch.no_grad():
            t = self.teacher(x)
        s = self.student(x)
        kd = F.kl_div(F.log_softmax(s / self.T, -1), F.softmax(t / self.T, -1), reduction="batchmean")
        return kd * self.T ** 2


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(-1) == y).float().mean().item()


centers = torch.randn(6, 20) * 1.2
y = torch.randint(0, 6, (900,))
x = centers[y] + torch.randn(900, 20)
x_tr, y_tr, x_te, y_te = x[:200], y[:200], x[600:], y[600:]
x_unl = x[200:600]

teacher = mlp(20, 128, 6)
opt = torch.optim.Adam(teacher.parameters(), lr=3e-3, weight_decay=1e-4)
for _ in range(120):
    loss = F.cross_entropy(teacher(x_tr), y_tr)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("teacher acc", accuracy(teacher, x_te, y_te))

student = mlp(20, 16, 6)
system = Distiller(teacher, student)
opt = torch.optim.Adam(system.parameters(), lr=5e-3)
for epoch in range(30):
    system.train()
    for idx in torch.randperm(len(x_unl)).split(50):
        loss = system(x_unl[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 10 == 0:
        print(epoch, round(loss.item(), 4), round(accuracy(student, x_te, y_te), 3))

print(f"final student acc {accuracy(student, x_te, y_te):.3f} teacher acc {accuracy(teacher, x_te, y_te):.3f}")
