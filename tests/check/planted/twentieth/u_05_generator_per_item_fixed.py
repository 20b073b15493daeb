"""Denoising diffusion on a two-dimensional spiral; the dataset makes the noise."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

T = 50
betas = torch.linspace(1e-3, 0.1, T)
alpha_bar = torch.cumprod(1 - betas, dim=0)


class NoisySpiral(Dataset):
    def __init__(self, n, seed=0):
        u = torch.rand(n)
        angle = 3 * math.pi * u.sqrt()
        self.points = torch.stack([angle.cos(), angle.sin()], dim=1) * u.sqrt()[:, None]
        self.seed = seed
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        g = self.generator
        t = torch.randint(0, T, (1,), generator=g).squeeze(0)
        noise = torch.randn(2, generator=g)
        x = alpha_bar[t].sqrt() * self.points[i] + (1 - alpha_bar[t]).sqrt() * noise
        return x, t, noise


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(
            nn.Linear(2 + 16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def main(epochs=3):
    torch.manual_seed(1)
    loader = DataLoader(NoisySpiral(320), batch_size=40, shuffle=True)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for x, t, noise in loader:
            loss = ((model(x, t) - noise) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
