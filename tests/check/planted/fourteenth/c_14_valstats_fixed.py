import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)


class StandardScaler:
    def fit(self, a):
        self.mu = a.mean(axis=0, keepdims=True)
        self.sd = a.std(axis=0, keepdims=True) + 1e-8
        return self

    def transform(self, a):
        return (a - self.mu) / self.sd

    def fit_transform(self, a):
        return self.fit(a).transform(a)

    def inverse(self, a):
        return a * self.sd + self.mu


def house_prices(n, year):
    size = rng.gamma(8 + year, 12, size=(n, 1))
    rooms = np.round(size / 25 + rng.normal(0, 0.7, (n, 1)))
    dist = rng.exponential(8, size=(n, 1))
    price = 2.1 * size + 15 * rooms - 4 * dist + rng.normal(0, 10, (n, 1))
    return np.hstack([size, rooms, dist]), price


X_tr, y_tr = house_prices(500, year=0)
X_va, y_va = house_prices(200, year=6)

xs, ys = StandardScaler(), StandardScaler()
X_tr_n, y_tr_n = xs.fit_transform(X_tr), ys.fit_transform(y_tr)
X_va_n = xs.transform(X_va)


def as_t(a):
    return torch.as_tensor(a, dtype=torch.float32)


class Net(nn.Module):
    def __init__(self, d_in=3, h=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d_in, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.f(x)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
Xt, yt = as_t(X_tr_n), as_t(y_tr_n)
for epoch in range(60):
    net.train()
    for idx in torch.randperm(len(Xt)).split(64):
        loss = nn.functional.smooth_l1_loss(net(Xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()

net.eval()
with torch.no_grad():
    tr_pred = ys.inverse(net(Xt).numpy())
    va_pred = ys.inverse(net(as_t(X_va_n)).numpy())
print("train MAE", np.abs(tr_pred - y_tr).mean().round(2))
print("final val MAE", np.abs(va_pred - y_va).mean().round(2))
