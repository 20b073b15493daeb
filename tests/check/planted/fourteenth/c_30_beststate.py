import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.bad = patience, 0
        self.best = float("inf")
        self.state = None

    def __call__(self, loss, model):
        if loss < self.best - 1e-4:
            self.best, self.bad = loss, 0
            self.state = dict(model.state_dict())  # BUG param-shared
        else:
            self.bad += 1
        return self.bad >= self.patience


def build(width=256):
    return nn.Sequential(nn.Linear(25, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def split(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 25, generator=g)
    y = x[:, :3].sum(1, keepdim=True) + 1.0 * torch.randn(n, 1, generator=g)
    return x, y


def train_loop(model, train, val, max_epochs=80, patience=15):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    stopper = EarlyStopping(patience)
    x, y = train
    for epoch in range(max_epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            F.mse_loss(model(x[idx]), y[idx]).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            v = F.mse_loss(model(val[0]), val[1]).item()
        if epoch % 10 == 0:
            print(f"epoch {epoch} val {v:.3f} best {stopper.best:.3f}")
        if stopper(v, model):
            print("stopped at", epoch)
            break
    model.load_state_dict(stopper.state)
    return stopper.best


torch.manual_seed(0)
model = build()
best = train_loop(model, split(150, 1), split(300, 2))
model.eval()
with torch.no_grad():
    xv, yv = split(300, 2)
    print(f"final restored val {F.mse_loss(model(xv), yv).item():.3f} best seen {best:.3f}")
