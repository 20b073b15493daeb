"""One-step forecasting with sliding windows and a GRU."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, context=16, horizon=1):
        self.series, self.context, self.horizon = series, context, horizon

    def __len__(self):
        return len(self.series) - self.context - self.horizon + 1

    def __getitem__(self, i):
        x = self.series[i:i + self.context]
        y = self.series[i + self.context + self.horizon - 1]
        return x.unsqueeze(-1), y


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.out(h[-1]).squeeze(-1)


torch.manual_seed(0)
t = torch.arange(500).float()
series = torch.sin(2 * math.pi * t / 25) + 0.3 * torch.randn(500)
train_loader = DataLoader(Windows(series[:400]), batch_size=32, shuffle=True)
test_loader = DataLoader(Windows(series[400:]), batch_size=64)
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        errs = torch.cat([(model(x) - y) ** 2 for x, y in test_loader])
    print(epoch, "test rmse", errs.mean().sqrt().item())
