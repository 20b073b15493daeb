"""A series is scaled before it is cut."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def windows(series, length):
    x = np.lib.stride_tricks.sliding_window_view(series, length + 1)
    return torch.tensor(x[:, :-1], dtype=torch.float32), torch.tensor(x[:, -1:], dtype=torch.float32)


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        states, _ = self.rnn(x.unsqueeze(-1))
        return self.out(states[:, -1])


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    series = np.cumsum(rng.normal(size=500)) * 0.1 + np.sin(np.arange(500) / 8)
    cut = 400
    series = (series - series.mean()) / series.std()  # <- finding
    x_train, y_train = windows(series[:cut], 16)
    x_test, y_test = windows(series[cut:], 16)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1):
        model.train()
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(epoch, nn.functional.mse_loss(model(x_test), y_test).item())


main()
