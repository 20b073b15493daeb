"""House price regression with a small MLP and a custom Dataset."""
import argparse
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Houses(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.x = rng.randn(n, 8).astype(np.float32)
        # price in units of 100k, between 0 and about 2
        self.price = 1.0 / (1.0 + np.exp(-self.x[:, 0] - 0.5 * self.x[:, 1])) + 0.02 * rng.randn(n)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), self.price[i]


def collate(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs), torch.LongTensor(ys)  # BUG label-dtype


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train = DataLoader(Houses(640, 0), batch_size=32, shuffle=True, collate_fn=collate)
    val = Houses(200, 1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for x, y in train:
            pred = model(x).squeeze(1)
            loss = ((pred - y) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        pred = model(torch.from_numpy(val.x)).squeeze(1)
        mae = (pred - torch.tensor(val.price, dtype=torch.float32)).abs().mean()
    print(f"val MAE {mae:.4f}")


if __name__ == "__main__":
    main()
