"""Bird or engine? Convolutions with a two-sided rectifier on raw audio."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoSided(nn.Module):
    """Positive and negative part side by side (concatenated ReLU)."""

    def forward(self, x):
        x = F.relu(x)
        return torch.cat([x, F.relu(-x)], dim=1)  # <- finding


class AudioNet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, 9, stride=2)
        self.conv2 = nn.Conv1d(2 * channels, channels, 5, stride=2)
        self.act = TwoSided()
        self.out = nn.Linear(2 * channels, 2)

    def forward(self, x):
        h = self.act(self.conv1(x))
        h = self.act(self.conv2(h))
        return self.out(h.mean(dim=2))


def sounds(n, length=96):
    y = torch.randint(0, 2, (n,))
    t = torch.arange(length) / length
    pitch = torch.where(y == 1, 14.0, 6.0) + 2 * torch.randn(n)
    phase = 6.28 * torch.rand(n, 1)
    wave = torch.sin(6.28 * pitch[:, None] * t + phase) + 0.5 * torch.randn(n, length)
    return wave.unsqueeze(1), y


def main():
    torch.manual_seed(0)
    x, y = sounds(600)
    x_val, y_val = sounds(150)
    net = AudioNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(6):
        for idx in torch.randperm(600).split(40):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            acc = (net(x_val).argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} val accuracy {acc:.3f}")


main()
