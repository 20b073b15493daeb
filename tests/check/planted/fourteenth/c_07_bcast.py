import numpy as np
import torch
import torch.nn as nn


def load(seed, n=400):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, 3)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(n)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))


class Regressor(nn.Module):
    """Predicts a mean and a log-variance."""

    def __init__(self, d):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.mu = nn.Linear(64, 1)
        self.logvar = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h).clamp(-6, 6)  # BUG mutual-broadcast


def gaussian_nll(mu, logvar, y):
    return 0.5 * (logvar + (y - mu) ** 2 * torch.exp(-logvar)).mean()  # BUG mutual-broadcast


def rmse(model, x, y):
    model.eval()
    with torch.no_grad():
        mu, _ = model(x)
    return (mu.reshape(-1) - y).pow(2).mean().sqrt().item()


def train(cfg):
    torch.manual_seed(cfg["seed"])
    x, y = load(0)
    xv, yv = load(1, 200)
    model = Regressor(x.shape[1])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        model.train()
        order = torch.randperm(len(x))
        for idx in order.split(cfg["bs"]):
            mu, logvar = model(x[idx])  # BUG mutual-broadcast
            loss = gaussian_nll(mu, logvar, y[idx])  # BUG mutual-broadcast
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        if epoch % 20 == 0:
            print(epoch, f"nll {loss.item():.3f}", f"val rmse {rmse(model, xv, yv):.3f}")
    return rmse(model, xv, yv)


print("final rmse %.3f" % train({"seed": 1, "lr": 3e-3, "epochs": 80, "bs": 40}))
