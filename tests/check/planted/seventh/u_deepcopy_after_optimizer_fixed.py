# Train a copy so that the pristine model stays available for comparison
import copy
import torch
from torch import nn


def prepare(seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(7, 24), nn.ELU(), nn.Linear(24, 1))
    pristine, net = net, copy.deepcopy(net)
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    return net, pristine, opt


net, pristine, opt = prepare(3)
x = torch.rand(500, 7)
y = torch.sin(3 * x[:, :1]) + x[:, 1:2] ** 2


def mse(model):
    return nn.functional.mse_loss(model(x), y)


for epoch in range(20):
    for b in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[b]), y[b])
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "batch loss", round(loss.item(), 5))
print("pristine", mse(pristine).item(), "trained", mse(net).item())
