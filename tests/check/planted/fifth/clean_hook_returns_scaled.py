"""A forward hook that returns a value on purpose: scale features by a learned gain."""
import torch
from torch import nn

torch.manual_seed(0)
gain = nn.Parameter(torch.ones(8))


def scale(module, inputs, output):
    return output * gain


net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
handle = net[1].register_forward_hook(scale)
opt = torch.optim.Adam([*net.parameters(), gain], lr=1e-2)
x = torch.randn(256, 4)
y = (x[:, :1] * x[:, 1:2]).tanh()
for step in range(300):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, round(loss.item(), 4))
print("final", round(loss.item(), 4), "gain moved", round((gain - 1).abs().max().item(), 3))
handle.remove()
