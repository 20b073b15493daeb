"""Validation decorator that is meant to put the mode back afterwards."""
import functools
import torch
from torch import nn
import torch.nn.functional as F


def evaluating(fn):
    @functools.wraps(fn)
    def inner(model, *args, **kw):
        was_training = model.training
        model.eval()
        with torch.no_grad():
            out = fn(model, *args, **kw)
        model.train(was_training)
        return out
    return inner


@evaluating
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(4)
xtr, ytr = torch.randn(60, 30), torch.randint(0, 2, (60,))
xtr[:, 0] += ytr * 2.0
xva, yva = torch.randn(300, 30), torch.randint(0, 2, (300,))
xva[:, 0] += yva * 2.0

net = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Dropout(0.6), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
net.train()
print("before", round(accuracy(net, xva, yva), 3))
for epoch in range(40):
    for idx in torch.randperm(60).split(20):
        loss = F.cross_entropy(net(xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch} loss {loss.item():.3f} val {accuracy(net, xva, yva):.3f} training={net.training}")
