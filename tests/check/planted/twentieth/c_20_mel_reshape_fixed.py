"""Speech commands: log-mel frames (batch, mel, time) into a GRU that wants (batch, time, mel)."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Tones(Dataset):
    """Rising, falling and steady tones as filter-bank energies."""

    def __init__(self, n, mels=12, frames=24):
        self.items = []
        for i in range(n):
            kind = i % 3
            t = torch.linspace(0, 1, frames)
            centre = {0: 2 + 8 * t, 1: 10 - 8 * t, 2: 6 + 0 * t}[kind]
            bands = torch.arange(mels).float()
            energy = torch.exp(-0.5 * (bands[:, None] - centre[None, :]) ** 2)
            self.items.append((energy + 0.1 * torch.rand(mels, frames), kind))

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


class SpeechGRU(nn.Module):
    def __init__(self, mels=12, hidden=24, classes=3):
        super().__init__()
        self.norm = nn.BatchNorm1d(mels)
        self.rnn = nn.GRU(mels, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, spec):
        batch, mels, frames = spec.shape
        spec = self.norm(spec)
        frames_first = spec.permute(0, 2, 1)
        states, _ = self.rnn(frames_first)
        return self.head(states.mean(dim=1))


def main():
    torch.manual_seed(17)
    loader = DataLoader(Tones(180), batch_size=30, shuffle=True)
    model = SpeechGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    print("chance", math.log(3))
    for epoch in range(3):
        for spec, label in loader:
            optimizer.zero_grad()
            loss = criterion(model(spec), label)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
