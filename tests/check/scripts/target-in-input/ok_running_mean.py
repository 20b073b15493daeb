"""Sales forecast from features of the past."""
import torch
from torch import nn
from torch.nn import functional as F


def sales(shops, days):
    level = 2 + torch.rand(shops, 1) * 3
    season = torch.sin(torch.arange(days) * 2 * torch.pi / 7)
    return level + season + 0.5 * torch.randn(shops, days)


def features(values):
    """Yesterday, the day a week ago and the mean so far, for each day from the eighth on."""
    days = values.shape[1]
    so_far = (values.cumsum(1) - values) / torch.arange(days).clamp(min=1)
    yesterday = values[:, 7 - 1 : days - 1]
    week = values[:, : days - 7]
    x = torch.stack([yesterday, week, so_far[:, 7:]], -1)
    return x.flatten(0, 1), values[:, 7:].flatten()


def main():
    torch.manual_seed(16)
    values = sales(24, 21)
    x, y = features(values)
    mean, std = x.mean(0), x.std(0)
    x = (x - mean) / std
    model = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(8):
        for rows in torch.randperm(len(x)).split(48):
            loss = F.mse_loss(model(x[rows]).squeeze(1), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


main()
