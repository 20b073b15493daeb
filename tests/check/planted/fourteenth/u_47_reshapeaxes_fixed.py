import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
N_SENS, T = 6, 20


def record(n):
    """Multi-sensor recordings as they come off the logger: (trial, time, sensor)."""
    y = rng.integers(0, 3, n)
    sig = rng.normal(0, 0.5, (n, T, N_SENS))
    t = np.arange(T)
    for i in range(n):
        ph = rng.uniform(0, 6.28)
        sig[i, :, 2 * y[i]] += np.sin(0.9 * t + ph)
        sig[i, :, 2 * y[i] + 1] += np.sin(0.9 * t + ph + 1.5)
    sig += np.arange(N_SENS) * 3.0
    return sig.astype(np.float32), y


def preprocess(sig, stats=None):
    if stats is None:
        stats = sig.mean((0, 1)), sig.std((0, 1))
    x = (sig - stats[0]).transpose(0, 2, 1)
    x = x / np.repeat(stats[1][:, None], T, axis=1)
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32)), stats


class SensorNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.depthwise = nn.Conv1d(N_SENS, N_SENS * 2, 5, padding=2, groups=N_SENS)
        self.point = nn.Conv1d(N_SENS * 2, c, 1)
        self.fc = nn.Linear(c, 3)

    def forward(self, x):
        h = F.relu(self.depthwise(x))
        h = F.relu(self.point(h)).mean(-1)
        return self.fc(h)


def main():
    torch.manual_seed(0)
    raw, y = record(500)
    raw_t, y_t = record(200)
    x, stats = preprocess(raw)
    xt, _ = preprocess(raw_t, stats)
    y, y_t = torch.from_numpy(y), torch.from_numpy(y_t)
    net = SensorNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for ep in range(20):
        net.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 5 == 0:
            print(ep, f"loss {loss.item():.3f}")
    net.eval()
    with torch.no_grad():
        print(f"final test acc {(net(xt).argmax(1) == y_t).float().mean().item():.3f}")


main()
