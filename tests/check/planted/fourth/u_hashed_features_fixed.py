"""Click model with hashed categorical features."""
import random
import zlib

import torch
from torch import nn

BUCKETS = 512
CITIES = ["oslo", "lima", "rome", "cairo", "delhi", "quito", "paris", "tokyo"]
DEVICES = ["phone", "tablet", "laptop", "tv"]


def bucket(name, value):
    return zlib.crc32(f"{name}={value}".encode()) % BUCKETS


def visits(n):
    rows, clicks = [], []
    for _ in range(n):
        city, device, hour = random.choice(CITIES), random.choice(DEVICES), random.randrange(24)
        rows.append([bucket("city", city), bucket("device", device), bucket("hour", hour)])
        score = (city in CITIES[:4]) + (device == "phone") + (hour > 17) - 1.2
        clicks.append(float(score + random.gauss(0, 0.4) > 0))
    return torch.tensor(rows), torch.tensor(clicks)


class ClickModel(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.table = nn.Embedding(BUCKETS, dim)
        self.out = nn.Sequential(nn.Linear(3 * dim, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, rows):
        return self.out(self.table(rows).flatten(1)).squeeze(1)


random.seed(0)
torch.manual_seed(0)
rows, clicks = visits(1000)
test_rows, test_clicks = visits(200)
model = ClickModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.BCEWithLogitsLoss()
for epoch in range(4):
    for idx in torch.randperm(1000).split(50):
        loss = loss_fn(model(rows[idx]), clicks[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        test = loss_fn(model(test_rows), test_clicks).item()
    print(f"epoch {epoch} train {loss.item():.5f} test {test:.5f}")
