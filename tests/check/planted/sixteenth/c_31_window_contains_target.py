import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class SeriesWindows(Dataset):
    def __init__(self, series, lookback):
        self.series = torch.from_numpy(series.astype(np.float32))
        self.lookback = lookback

    def __len__(self):
        return len(self.series) - self.lookback

    def __getitem__(self, i):
        window = self.series[i:i + self.lookback + 1]  # BUG target-leak|data-leak|target-in-input
        target = self.series[i + self.lookback]
        return window, target


def autoregressive(n, seed):
    noise = np.random.default_rng(seed).normal(size=n)
    out = np.zeros(n)
    for t in range(1, n):
        out[t] = 0.6 * out[t - 1] + noise[t]
    return out


def evaluate(model, dl):
    model.eval()
    with torch.no_grad():
        errs = [((model(w).squeeze(1) - t) ** 2) for w, t in dl]
    return torch.cat(errs).mean().item()


LOOKBACK = 10
torch.manual_seed(0)
train_ds = SeriesWindows(autoregressive(600, 1), LOOKBACK)
test_ds = SeriesWindows(autoregressive(200, 2), LOOKBACK)
train_dl = DataLoader(train_ds, batch_size=50, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=100)
model = nn.Sequential(nn.Linear(len(train_ds[0][0]), 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for w, t in train_dl:
        loss = nn.functional.mse_loss(model(w).squeeze(1), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} test mse {evaluate(model, test_dl):.4f} (noise variance 1.0)")
