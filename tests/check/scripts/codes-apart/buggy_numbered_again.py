"""Tabular model with a categorical column; the codes are made from strings."""
import random

import torch
from torch import nn

CITIES = ["Oslo", "Bergen", "Turku", "Malmo", "Aarhus", "Narvik"]
EFFECT = {"Oslo": 2.0, "Bergen": 1.0, "Turku": -1.0, "Malmo": 0.0, "Aarhus": -2.0, "Narvik": 0.5}


def make_rows(n, rng):
    rows = []
    for _ in range(n):
        city, area = rng.choice(CITIES), rng.random()
        rows.append((city, area, EFFECT[city] + 2 * area + 0.1 * rng.gauss(0, 1)))
    return rows


def fit_codes(rows):
    codes = {}
    for city, _, _ in rows:
        codes.setdefault(city, len(codes))
    return codes


def tensors(rows, codes):
    city = torch.tensor([codes[r[0]] for r in rows])
    area = torch.tensor([[r[1]] for r in rows])
    return city, area, torch.tensor([r[2] for r in rows])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.city = nn.Embedding(len(CITIES), 3)
        self.out = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, city, area):
        return self.out(torch.cat([self.city(city), area], 1)).squeeze(1)


rng = random.Random(5)
torch.manual_seed(5)
train_rows, test_rows = make_rows(300, rng), make_rows(200, rng)
codes = fit_codes(train_rows)
train = tensors(train_rows, codes)
test = tensors(test_rows, fit_codes(test_rows))  # <- finding
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(3):
    for idx in torch.randperm(300).split(60):
        loss = nn.functional.mse_loss(net(train[0][idx], train[1][idx]), train[2][idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
with torch.no_grad():
    print("train", loss.item(), "test", nn.functional.mse_loss(net(test[0], test[1]), test[2]).item())
