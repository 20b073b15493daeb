"""Forecast the next four values of a sawtooth-like series from the last twelve."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

PAST, HORIZON = 12, 4


class Windows(Dataset):
    def __init__(self, series):
        self.series = series

    def __len__(self):
        return len(self.series) - PAST - HORIZON + 1

    def __getitem__(self, i):
        mid = i + PAST
        return self.series[i:mid], self.series[mid:i + PAST + 1]  # BUG loss-shape-mismatch


def huber(pred, true, delta=0.5):
    d = (pred - true).abs()  # BUG loss-shape-mismatch
    return torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)).mean()


torch.manual_seed(0)
t = torch.arange(700.0)
series = (t % 9) / 9 + 0.3 * torch.sin(t / 5)
loader = DataLoader(Windows(series[:500]), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(PAST, 48), nn.ReLU(), nn.Linear(48, HORIZON))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    for past, future in loader:
        loss = huber(net(past), future)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 0:
        print(epoch, f"training loss {loss.item():.5f}")
with torch.no_grad():
    starts = range(520, 680)
    pred = net(torch.stack([series[s:s + PAST] for s in starts]))
    true = torch.stack([series[s + PAST:s + PAST + HORIZON] for s in starts])
for h, e in enumerate((pred - true).abs().mean(0).tolist(), 1):
    print(f"horizon {h}: mean absolute error {e:.3f}")
