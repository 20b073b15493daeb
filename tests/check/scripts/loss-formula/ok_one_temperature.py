import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(48)
T = 4.0
y = torch.randint(0, 5, (500,))
x = torch.randn(5, 12)[y] * 1.5 + torch.randn(500, 12)


def fit(model, loss_of, steps=60):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        i = torch.randint(0, 500, (50,))
        loss = loss_of(model(x[i]), i)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


teacher = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
fit(teacher, lambda out, i: F.cross_entropy(out, y[i]))
teacher.eval().requires_grad_(False)


def distill(out, i):
    soft = F.softmax(teacher(x[i]) / T, dim=1)
    return F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction="batchmean") * T * T


print(fit(nn.Linear(12, 5), distill))
