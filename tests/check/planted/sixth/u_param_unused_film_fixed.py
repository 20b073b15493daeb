import torch
import torch.nn as nn

torch.manual_seed(8)


class FiLM(nn.Module):
    def __init__(self, cond, width):
        super().__init__()
        self.to_gamma = nn.Linear(cond, width)
        self.to_beta = nn.Linear(cond, width)

    def forward(self, h, c):
        h = h * (1 + self.to_gamma(c))
        h = h + self.to_beta(c)
        return h


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 32)
        self.film = FiLM(3, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x, c):
        h = self.film(self.inp(x), c)
        return self.out(torch.relu(h)).squeeze(1)


def draw(n):
    x = torch.randn(n, 6)
    k = torch.randint(0, 3, (n,))
    return x, torch.eye(3)[k], x[torch.arange(n), k] * 2


net = Conditional()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(400):
    x, c, y = draw(64)
    loss = nn.functional.mse_loss(net(x, c), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 99:
        print(f"it {it + 1} loss {loss.item():.3f}")
x, c, y = draw(500)
with torch.no_grad():
    print("R2 %.3f" % (1 - (net(x, c) - y).pow(2).mean() / y.var()).item())
