import torch
import torch.nn.functional as F
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        logp = F.log_softmax(logits, dim=1).gather(1, target.unsqueeze(1)).squeeze(1)
        p = logp.exp()
        return -((1 - p) ** self.gamma * logp).mean()


def imbalanced(n):
    y = (torch.rand(n) < 0.08).long()
    return torch.randn(n, 6) + 1.2 * y.unsqueeze(1), y


def recall(model, x, y):
    with torch.no_grad():
        found = model(x).argmax(1)
    return (found[y == 1] == 1).float().mean().item()


def main():
    torch.manual_seed(110)
    x, y = imbalanced(1200)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = FocalLoss()
    for epoch in range(8):
        for rows in torch.randperm(1000).split(100):
            loss = criterion(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item(), recall(model, x[1000:], y[1000:]))


main()
