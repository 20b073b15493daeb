"""Resumable training: the shuffle of epoch e depends only on the seed and e."""
import io
import torch
from torch import nn


def order(n, seed, epoch):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed * 1000 + epoch))


def make():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
    return net, torch.optim.Adam(net.parameters(), lr=5e-3)


def run(net, opt, x, y, epochs):
    for e in epochs:
        for idx in order(len(x), 7, e).split(32):
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


g = torch.Generator().manual_seed(3)
x = torch.randn(320, 4, generator=g)
y = x[:, :1] * x[:, 1:2]
net, opt = make()
run(net, opt, x, y, range(0, 12))
buf = io.BytesIO()
torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": 12}, buf)
buf.seek(0)
state = torch.load(buf, weights_only=True)
net2, opt2 = make()
net2.load_state_dict(state["net"])
opt2.load_state_dict(state["opt"])
a = run(net, opt, x, y, range(12, 24))
b = run(net2, opt2, x, y, range(state["epoch"], 24))
print("loss", a, "resumed run equal:", a == b)
