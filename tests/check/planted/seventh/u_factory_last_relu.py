import torch
from torch import nn


def mlp(sizes, act=nn.ReLU):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        layers.append(act())  # BUG dead-units
    return nn.Sequential(*layers)


# night temperatures: mostly below zero
torch.manual_seed(3)
weather = torch.randn(700, 6)
temperature = (-6 + 2 * weather[:, 0] - weather[:, 4]).unsqueeze(1)
net = mlp([6, 32, 32, 1])
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(20):
    for b in torch.randperm(700).split(70):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(weather[b]), temperature[b])
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "mse", round(loss.item(), 3))
with torch.no_grad():
    out = net(weather)
print("share of predictions that are exactly zero", (out == 0).float().mean().item())
print("gradient norm", sum(p.grad.norm().item() for p in net.parameters()))
