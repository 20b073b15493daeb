"""Exponential averages that hold floats and detached tensors: nothing grows."""
import torch
from torch import nn

torch.manual_seed(1)
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
avg = torch.zeros(())
history = []
w = torch.randn(6, 1)
for step in range(400):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(net(x), x @ w)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    avg.mul_(0.9).add_(loss.detach(), alpha=0.1)
    history.append(loss.item())
    if step % 100 == 0:
        print(step, round(avg.item(), 4))
print("smoothed", round(avg.item(), 6), "requires grad", avg.requires_grad, "kept", len(history))
