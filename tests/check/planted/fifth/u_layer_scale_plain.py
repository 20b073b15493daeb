"""A stack of scaled blocks; the plain variant overrides the forward of the residual one."""
import torch
from torch import nn


class ScaledBlock(nn.Module):
    def __init__(self, dim, layer_scale=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, dim)
        self.gamma = nn.Parameter(torch.full((dim,), layer_scale))

    def branch(self, x):
        return self.gamma * torch.tanh(self.fc(x))

    def forward(self, x):
        return x + self.branch(self.norm(x))


class PlainBlock(ScaledBlock):
    def forward(self, x):
        return self.branch(x)  # BUG vanishing-gradient


def build(depth, dim, block):
    return nn.Sequential(nn.Linear(3, dim), *[block(dim) for _ in range(depth)], nn.Linear(dim, 1))


torch.manual_seed(0)
net = build(8, 24, PlainBlock)
x = torch.randn(256, 3)
y = (x[:, :1] - x[:, 1:2] * x[:, 2:]).tanh()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(250):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, f"loss {loss.item():.4f} grad at the entrance {net[0].weight.grad.norm().item():.2e}")
print("final", round(loss.item(), 4), "variance of the target", round(y.var().item(), 4))
