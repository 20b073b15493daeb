"""Classify bright and dark objects in byte images after centring them."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ByteImages(Dataset):
    MEAN = 128

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 2, (n,), generator=g)
        bg = torch.randint(100, 156, (n, 1, 8, 8), generator=g)
        bg[:, :, 2:5, 2:5] += torch.where(self.y == 1, 30, -30)[:, None, None, None]
        self.img = bg.clamp(0, 255).to(torch.uint8)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.img[i] - self.MEAN  # BUG device-dtype-mixed
        return x.float() / 64, self.y[i]


def accuracy(net, loader):
    hit = n = 0
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            hit += (net(x).argmax(1) == y).sum().item()
            n += len(y)
    return hit / n


def main():
    torch.manual_seed(0)
    train = DataLoader(ByteImages(600, 1), 50, shuffle=True)
    val = DataLoader(ByteImages(200, 2), 100)
    net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(5):
        net.train()
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        print(epoch, round(loss.item(), 3), accuracy(net, val))


main()
