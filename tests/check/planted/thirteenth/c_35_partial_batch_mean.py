import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def wine(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 7, generator=g)
    y = x @ torch.tensor([0.8, -1.2, 0.4, 0.0, 0.9, 0.3, -0.5]) + x[:, 0] * x[:, 4]
    return x, (y + 0.2 * torch.randn(n, generator=g)).unsqueeze(1)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(7, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x)


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()


def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:  # BUG partial-batch-mean
            total += criterion(model(x), y).item()  # BUG partial-batch-mean
    return total / len(loader)  # BUG partial-batch-mean


def main():
    torch.manual_seed(64)
    x, y = wine(800, 1)
    x_val, y_val = wine(131, 2)
    order = (x_val.norm(dim=1)).argsort()  # written to disk by distance from the centre
    train_loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    val_loader = DataLoader(TensorDataset(x_val[order], y_val[order]), batch_size=64)  # BUG partial-batch-mean
    model, criterion = Regressor(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(8):
        train_one_epoch(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch}: validation mse {evaluate(model, val_loader, criterion):.4f}")
    with torch.no_grad():
        print(f"whole set in one go {criterion(model(x_val), y_val).item():.4f}")


if __name__ == "__main__":
    main()
