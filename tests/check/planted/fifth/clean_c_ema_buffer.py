"""Keeps an exponential moving average of the weights in a deep copy, which no optimiser owns on purpose."""
import copy
import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(600, 2) * 4 - 2
y = (x[:, :1] ** 2 - x[:, 1:]).tanh() + 0.1 * torch.randn(600, 1)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(600):
    idx = torch.randint(0, 500, (16,))
    loss = nn.functional.mse_loss(net(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.mul_(0.98).add_(p, alpha=0.02)
    if step % 200 == 199:
        print(f"step {step + 1} batch loss {loss.item():.4f}")
with torch.no_grad():
    print("raw", nn.functional.mse_loss(net(x[500:]), y[500:]).item())
    print("ema", nn.functional.mse_loss(ema(x[500:]), y[500:]).item())
