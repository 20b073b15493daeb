import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class Houses(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.feat = rng.normal(size=(n, 5)).astype(np.float32)
        w = np.array([2.0, -1.0, 0.5, 0.0, 3.0], dtype=np.float32)
        self.price = self.feat @ w + rng.normal(scale=0.1, size=n).astype(np.float32)

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return self.feat[i], self.price[i]


def rmse_loss(pred, target):
    return ((pred - target) ** 2).mean()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Houses(400, 0), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        epoch_loss = 0.0
        for feats, price in loader:
            opt.zero_grad()
            loss = rmse_loss(model(feats), price)  # BUG broadcast|shape-mismatch|mutual-broadcast
            loss.backward()
            opt.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch} mse {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    main()
