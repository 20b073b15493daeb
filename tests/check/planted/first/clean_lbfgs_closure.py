"""Fit a small network with L-BFGS."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-2, 2, 120).unsqueeze(1)
y = x ** 3 - x
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=10, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


for it in range(30):
    loss = opt.step(closure)
print("mse", nn.functional.mse_loss(net(x), y).item())
