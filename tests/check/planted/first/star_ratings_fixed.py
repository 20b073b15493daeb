"""Predict star ratings (1 to 5) from review features."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, n=600):
        self.x = torch.randn(n, 10)
        score = self.x[:, 0] + 0.5 * self.x[:, 1]
        self.stars = torch.bucketize(score, torch.tensor([-1.2, -0.4, 0.4, 1.2])) + 1

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.stars[i] - 1


def main():
    torch.manual_seed(0)
    ds = Reviews()
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(10):
        for x, y in DataLoader(ds, batch_size=30, shuffle=True):
            loss = crit(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("final loss", loss.item(), "(chance 1.609)")


main()
