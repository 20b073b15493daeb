"""Denoising autoencoder for short ECG-like curves."""
import torch
from torch import nn


def corrupt(clean, sigma=0.5, seed=0):  # BUG same-mask
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(clean.shape, generator=generator)
    return clean + sigma * noise


def heartbeats(n, length=48):
    t = torch.linspace(0, 1, length)
    center = 0.3 + 0.4 * torch.rand(n, 1)
    width = 0.02 + 0.03 * torch.rand(n, 1)
    beat = torch.exp(-((t - center) ** 2) / (2 * width ** 2))
    return beat + 0.2 * torch.sin(6.28 * (t + torch.rand(n, 1)))


class Denoiser(nn.Module):
    def __init__(self, length=48, code=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(length, 64), nn.GELU(), nn.Linear(64, code))
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.GELU(), nn.Linear(64, length))

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(0)
train, val = heartbeats(512), heartbeats(128)
val_noisy = corrupt(val, seed=10_000)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    clean = train[torch.randint(0, len(train), (64,))]
    loss = nn.functional.mse_loss(model(corrupt(clean)), clean)  # BUG same-mask
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            val_loss = nn.functional.mse_loss(model(val_noisy), val).item()
        print(f"step {step + 1} train {loss.item():.4f} val {val_loss:.4f}")
