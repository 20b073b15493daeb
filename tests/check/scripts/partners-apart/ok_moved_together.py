"""Segmentation with random flips of the image and of the mask."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def random_flip(t):
    return t.flip(-1) if random.random() < 0.5 else t


class Scans(Dataset):
    def __init__(self, n, train):
        self.train = train
        self.masks = torch.zeros(n, 1, 16, 16)
        for i in range(n):
            r, c = random.randrange(8), random.randrange(8)
            self.masks[i, 0, r : r + 6, c : c + 4] = 1
        self.images = self.masks + 0.4 * torch.randn(n, 1, 16, 16)

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.train:
            both = random_flip(torch.cat([image, mask]))
            image, mask = both[:1], both[1:]
        return image, mask


def main():
    torch.manual_seed(57)
    random.seed(57)
    train, test = DataLoader(Scans(48, True), 16, shuffle=True), DataLoader(Scans(48, False), 16)
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(2):
        net.train()
        for image, mask in train:
            loss = nn.functional.binary_cross_entropy_with_logits(net(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            iou = [((net(x) > 0) & (m > 0)).sum() / ((net(x) > 0) | (m > 0)).sum() for x, m in test]
        print(epoch, loss.item(), torch.stack(iou).mean().item())


main()
