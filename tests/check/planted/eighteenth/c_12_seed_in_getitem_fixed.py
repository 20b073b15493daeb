import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(61)
np.random.seed(61)


class NoisySignals(Dataset):
    """Clean signals in memory; each access adds fresh noise."""

    def __init__(self, n):
        t = np.arange(24) / 24
        rng = np.random.default_rng(1)
        self.freq = rng.integers(1, 4, n)
        self.clean = np.sin(2 * np.pi * self.freq[:, None] * t + rng.random((n, 1)) * 6)

    def __len__(self):
        return len(self.freq)

    def __getitem__(self, i):
        noisy = self.clean[i] + 0.8 * np.random.randn(24)
        return torch.from_numpy(noisy).float(), torch.from_numpy(self.clean[i]).float()


loader = DataLoader(NoisySignals(320), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
mse = nn.MSELoss()
for epoch in range(10):
    total = 0.0
    for noisy, clean in loader:
        optimizer.zero_grad()
        loss = mse(model(noisy), clean)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
rng = np.random.default_rng(2)
clean = np.stack([np.sin(2 * np.pi * f * np.arange(24) / 24) for f in (1, 2, 3)] * 20)
test = torch.from_numpy(clean + 0.8 * rng.standard_normal(clean.shape)).float()
print("fresh noise", mse(model(test), torch.from_numpy(clean).float()).item())
