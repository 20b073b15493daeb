import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_windows(n=300, t=16, seed=0):
    rng = np.random.default_rng(seed)
    freq = rng.uniform(0.2, 1.0, size=(n, 1))
    phase = rng.uniform(0, 6.28, size=(n, 1))
    steps = np.arange(t + 1)[None, :]
    wave = np.sin(freq * steps + phase).astype(np.float32)
    return torch.from_numpy(wave[:, :-1, None]), torch.from_numpy(wave[:, -1:])


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


torch.manual_seed(0)
x, y = make_windows()
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    total = 0.0
    for xb, yb in loader:
        pred = model(xb)
        loss = nn.functional.mse_loss(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    print(f"epoch {epoch} mse {total / len(x):.4f}")
