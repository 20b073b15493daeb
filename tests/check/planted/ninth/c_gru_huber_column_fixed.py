# Next-day temperature from two weeks of measurements
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Weather(Dataset):
    def __init__(self, days=260, window=14):
        t = torch.arange(days, dtype=torch.float32)
        self.series = torch.sin(2 * math.pi * t / 30) + 0.1 * torch.randn(days)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        return self.series[i:i + self.window].unsqueeze(-1), self.series[i + self.window]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.out(h[-1])


torch.manual_seed(4)
loader = DataLoader(Weather(), batch_size=41, shuffle=True)
model = Forecaster()
criterion = nn.HuberLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for window, tomorrow in loader:
        optimizer.zero_grad()
        loss = criterion(model(window).squeeze(1), tomorrow)
        loss.backward()
        optimizer.step()
    print(epoch, float(loss))
