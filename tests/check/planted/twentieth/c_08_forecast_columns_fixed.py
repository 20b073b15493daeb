"""One-step forecasts of a noisy seasonal series by an LSTM."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WINDOW = 12


class Windows(Dataset):
    def __init__(self, series, window):
        self.series = torch.from_numpy(series).float()
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        history = self.series[i:i + self.window].unsqueeze(-1)
        target = self.series[i + self.window]
        return history, target


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, history):
        out, _ = self.lstm(history)
        return self.readout(out[:, -1]).squeeze(-1)


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    t = np.arange(260)
    series = np.sin(t / 6) + 0.3 * np.sin(t / 2.5) + 0.05 * np.random.randn(260)
    mean, std = series[:200].mean(), series[:200].std()
    series = (series - mean) / std
    train = DataLoader(Windows(series[:200], WINDOW), batch_size=32, shuffle=True, drop_last=True)
    test = Windows(series[200 - WINDOW:], WINDOW)
    net = Forecaster()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    mse = nn.MSELoss()
    for epoch in range(3):
        for history, target in train:
            opt.zero_grad()
            prediction = net(history)
            loss = mse(prediction, target)
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", loss.item())
    with torch.no_grad():
        errors = [abs(net(h[None]).item() - y.item()) for h, y in (test[i] for i in range(20))]
    print("mean absolute error", np.mean(errors) * std)


main()
