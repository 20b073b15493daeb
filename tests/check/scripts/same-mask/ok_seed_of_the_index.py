"""Noise-augmented keyword spotting."""
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, waves, words, noise=0.3, shift=8):
        self.waves, self.words = waves, words
        self.noise, self.shift = noise, shift

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        wave = self.waves[index].roll(random.randint(-self.shift, self.shift))
        return wave + self.noise * torch.randn(len(wave)), self.words[index]


def recordings(n, length=64):
    words = torch.randint(0, 3, (n,))
    t = torch.arange(length) / length
    waves = torch.sin(2 * torch.pi * (3 + 2 * words).unsqueeze(1) * t)
    return waves, words


def main():
    torch.manual_seed(20)
    random.seed(20)
    data = Clips(*recordings(120))
    model = nn.Sequential(
        nn.Unflatten(1, (1, 64)), nn.Conv1d(1, 12, 9, stride=2), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(48, 3)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        total = 0.0
        for waves, words in DataLoader(data, batch_size=24, shuffle=True):
            loss = F.cross_entropy(model(waves), words)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(words)
        print(f"epoch {epoch} loss {total / len(data):.3f}")


if __name__ == "__main__":
    main()
