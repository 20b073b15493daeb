import torch
from torch import nn

torch.manual_seed(36)
T = 50
betas = torch.linspace(1e-3, 0.1, T)
alphas_bar = torch.cumprod(1 - betas, 0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(2 + 16, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


def add_noise(x0, t, noise):
    a = alphas_bar[t][:, None]
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


angle = torch.rand(800) * 6.28
data = torch.stack([angle.cos(), angle.sin()], 1)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    for i in torch.randperm(800).split(80):
        t = torch.randint(0, T, (len(i),))
        noise = torch.randn_like(data[i])
        loss = nn.functional.mse_loss(model(add_noise(data[i], t, noise), t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
