import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(57)


def net(h, p):
    return nn.Sequential(nn.Linear(8, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(p), nn.Linear(h, 3))


x = torch.randn(480, 8)
y = (x[:, :3] ** 2).argmax(1)
teacher, student = net(96, 0.5), net(16, 0.0)


def fit_teacher():
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    teacher.train()
    for _ in range(10):
        for idx in torch.randperm(480).split(48):
            loss = F.cross_entropy(teacher(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()


def distill(epochs=10, temperature=2.0):
    opt = torch.optim.Adam(student.parameters(), lr=5e-3)
    student.train()
    for epoch in range(epochs):
        for idx in torch.randperm(480).split(48):
            with torch.no_grad():
                soft = F.softmax(teacher(x[idx]) / temperature, dim=1)  # BUG eval-in-train-mode
            log_p = F.log_softmax(student(x[idx]) / temperature, dim=1)
            loss = F.kl_div(log_p, soft, reduction="batchmean") * temperature**2
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


fit_teacher()
distill()  # BUG eval-in-train-mode
student.eval()
with torch.no_grad():
    print("student accuracy", (student(x).argmax(1) == y).float().mean().item())
