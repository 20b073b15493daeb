"""Counts of visits per shop with a Poisson likelihood."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class CountModel(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        """The expected number of visits."""
        return F.softplus(self.net(x)).squeeze(1)


def visits(n):
    x = torch.randn(n, 5)
    rate = torch.exp(0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.8)
    return TensorDataset(x, torch.poisson(rate))


def main():
    torch.manual_seed(34)
    data = visits(400)
    loader = DataLoader(data, batch_size=40, shuffle=True)
    model = CountModel(5)
    criterion = nn.PoissonNLLLoss()  # <- finding
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch} loss {total / len(data):.3f}")


if __name__ == "__main__":
    main()
