"""House prices: regression with normalised targets."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def synth(n, rng):
    rooms = rng.integers(1, 8, n)
    area = rng.normal(100, 30, n).clip(20)
    age = rng.uniform(0, 80, n)
    price = 1.2 * rooms + 0.03 * area - 0.02 * age + rng.normal(0, 0.3, n)
    feats = np.stack([rooms, area, age], 1).astype(np.float32)
    return feats, price


class Houses(Dataset):
    def __init__(self, feats, price, mean, std):
        self.feats = torch.from_numpy((feats - mean) / std)
        price = (price - 6.0) / 2.0
        self.price = torch.tensor(price, dtype=torch.long)  # BUG label-dtype

    def __len__(self):
        return len(self.feats)

    def __getitem__(self, i):
        return self.feats[i], self.price[i]


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    feats, price = synth(400, rng)
    tr, va = slice(0, 320), slice(320, 400)
    mean, std = feats[tr].mean(0), feats[tr].std(0)
    train = DataLoader(Houses(feats[tr], price[tr], mean, std), batch_size=32, shuffle=True)
    valid = DataLoader(Houses(feats[va], price[va], mean, std), batch_size=80)
    model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        model.train()
        for x, y in train:
            pred = model(x)[:, 0]
            loss = nn.functional.mse_loss(pred, y.float())  # BUG label-dtype
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            err = np.mean([nn.functional.l1_loss(model(x)[:, 0], y.float()).item() for x, y in valid])
        print(epoch, loss.item(), err)


main()
