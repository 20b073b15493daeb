import torch
import torch.nn as nn

torch.manual_seed(16)


def mlp(width=32, depth=8):
    layers = [nn.Linear(2, width)]
    for _ in range(depth):
        layers += [nn.ReLU(), nn.Linear(width, width)]
    layers += [nn.ReLU(), nn.Linear(width, 2)]
    return nn.Sequential(*layers)


def rings(n):
    a = torch.rand(n) * 6.2832
    c = torch.randint(0, 2, (n,))
    r = 1.0 + c + 0.1 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), c


x, y = rings(500)
xt, yt = rings(200)
net = mlp()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for ep in range(120):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    if ep == 0:
        print("gradient norm, first layer %.2e, last layer %.2e" % (net[0].weight.grad.norm(), net[-1].weight.grad.norm()))
    opt.step()
    if ep % 40 == 39:
        with torch.no_grad():
            print(ep + 1, "loss %.4f acc %.3f" % (loss.item(), (net(xt).argmax(1) == yt).float().mean().item()))
