import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
T = 100
betas = torch.linspace(1e-4, 0.05, T)
alphas_bar = torch.cumprod(1 - betas, 0)


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=64):
        super().__init__()
        self.time = nn.Embedding(T, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, t):
        return self.net(self.inp(x) + self.time(t))


def q_sample(x0, t):
    noise = torch.randn_like(x0)
    a = alphas_bar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


def data(n):
    t = torch.rand(n) * 6.28
    return torch.stack([t.cos(), t.sin()], 1) + 0.05 * torch.randn(n, 2)


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    x0 = data(128)
    t = torch.randint(0, T, (128,))
    x_t = q_sample(x0, t)  # BUG partners-apart
    noise = torch.randn_like(x0)  # BUG partners-apart
    loss = F.mse_loss(model(x_t, t), noise)  # BUG partners-apart
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item())
