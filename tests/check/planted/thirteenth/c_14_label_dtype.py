import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class SensorDataset(Dataset):
    def __init__(self, features, targets):
        self.x = torch.tensor(features, dtype=torch.float32)
        self.y = torch.tensor(targets).long()  # BUG label-dtype

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, index):
        return self.x[index], self.y[index].float()  # BUG label-dtype


def load(seed=0, n=1000):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 5))
    targets = np.tanh(features[:, 0]) + 0.5 * features[:, 1] * features[:, 2] + 0.05 * rng.normal(size=n)
    return features, targets


def rmse(model, features, targets):
    model.eval()
    with torch.no_grad():
        pred = model(torch.tensor(features, dtype=torch.float32)).squeeze(1)
    return float(np.sqrt(np.mean((pred.numpy() - targets) ** 2)))


def main():
    torch.manual_seed(0)
    features, targets = load()
    train_set = SensorDataset(features[:800], targets[:800])
    loader = DataLoader(train_set, batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    for epoch in range(15):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch:2d} test rmse {rmse(model, features[800:], targets[800:]):.4f}")


if __name__ == "__main__":
    main()
