import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(39)
STEPS = 200
beta = torch.linspace(1e-4, 0.04, STEPS)
abar = torch.cumprod(1 - beta, 0)


class ScoreNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.temb = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 32))
        self.x_in = nn.Linear(3, 32)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 3))

    def forward(self, x, t):
        h = self.temb((t // STEPS).float().unsqueeze(1))  # <- finding
        return self.out(self.x_in(x) + h)


def sample_data(n):
    return torch.randint(0, 2, (n, 3)).float() * 2 - 1 + 0.05 * torch.randn(n, 3)


net = ScoreNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(300):
    x0 = sample_data(128)
    t = torch.randint(0, STEPS, (128,))
    eps = torch.randn_like(x0)
    a = abar[t].unsqueeze(1)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * eps
    loss = F.mse_loss(net(xt, t), eps)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item())
