import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(0, 1, 40)[:, None]
y = 3 * x - 1
net = nn.Linear(1, 1)
for p in net.parameters():
    p.grad = torch.zeros_like(p)
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    return loss.backward() or loss


for step in range(5):
    opt.step(closure)
