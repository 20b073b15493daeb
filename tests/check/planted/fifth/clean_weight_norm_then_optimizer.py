"""Weight normalisation is put on before the optimizer sees the parameters; a cached property reads only."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = weight_norm(nn.Linear(5, 32))
        self.b = weight_norm(nn.Linear(32, 1))

    @property
    def scale(self):
        return self.a.parametrizations.weight.original0.detach().mean().item()

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


torch.manual_seed(0)
net = Normed()
before = net.scale
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(300, 5)
y = (x[:, :2].abs().sum(1, keepdim=True) - 1.6)
for step in range(250):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))
print("loss", round(loss.item(), 4), "scale", round(before, 3), "->", round(net.scale, 3))
