"""A residual MLP mixer for tiny multichannel sequences."""
import torch
from torch import nn


class MixerLayer(nn.Module):
    def __init__(self, tokens, channels):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.token_mix = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channel_mix = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.GELU(), nn.Linear(2 * channels, channels)
        )

    def forward(self, x):
        x = x + self.token_mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, tokens=8, channels=12, depth=4, classes=3):
        super().__init__()
        layer = MixerLayer(tokens, channels)  # BUG param-shared
        self.layers = nn.ModuleList(layer for _ in range(depth))  # BUG param-shared
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(dim=1))


def gestures(n):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 8)
    phase = torch.rand(n, 1, 12) * 0.5
    wave = torch.sin(2 * torch.pi * ((y[:, None, None] + 1) * t[None, :, None] + phase))
    return wave + 0.2 * torch.randn(n, 8, 12), y


def train(model, steps=30):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(steps):
        x, y = gestures(32)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


torch.manual_seed(1)
mixer = Mixer()
print("parameters", sum(p.numel() for p in mixer.parameters()))
train(mixer)
