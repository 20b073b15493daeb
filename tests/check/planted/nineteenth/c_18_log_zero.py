"""Focal loss written by hand for an imbalanced binary problem."""
import torch
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.75):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logits, target):
        p = torch.sigmoid(logits)
        pos = -self.alpha * (1 - p) ** self.gamma * target * torch.log(p)
        neg = -(1 - self.alpha) * p ** self.gamma * (1 - target) * torch.log(1 - p)  # BUG nan-born
        return (pos + neg).mean()


def dataset(n=500):
    x = torch.randn(n, 6)
    y = (x[:, 0] + x[:, 1] > 1.8).float()
    x = torch.where(y[:, None] > 0, x * 6, x)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = dataset()
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    criterion = FocalLoss()
    opt = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    for epoch in range(30):
        for i in range(0, len(x), 100):
            out = model(x[i:i + 100]).squeeze(1)
            loss = criterion(out, y[i:i + 100])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 5 == 0:
            print(epoch, loss.item())
    return loss


loss = main()
