"""Regression with the rate lowered when the loss stops falling."""
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset


def friedman(n):
    x = torch.rand(n, 5)
    y = 10 * torch.sin(3.14159 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, ((y - 14) / 5).unsqueeze(1)


def run_epoch(model, loader, loss_fn, optimizer, scheduler):
    model.train()
    total, count = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())  # <- finding
        total += loss.item() * len(x)
        count += len(x)
    return total / count


def main():
    torch.manual_seed(6)
    x, y = friedman(600)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = ReduceLROnPlateau(optimizer, factor=0.1, patience=3)
    loss_fn = nn.MSELoss()
    for epoch in range(8):
        loss = run_epoch(model, loader, loss_fn, optimizer, scheduler)
        print(f"epoch {epoch} loss {loss:.4f} lr {optimizer.param_groups[0]['lr']:.1e}")


main()
