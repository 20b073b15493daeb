"""Dense prediction: land cover from a few bands, fully convolutional."""
import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 4


def scenes(n, size=10):
    field = F.interpolate(torch.randn(n, CLASSES, 3, 3), size=(size, size), mode="bilinear")
    cover = field.argmax(1)
    signature = torch.eye(CLASSES, 5)
    bands = signature[cover].permute(0, 3, 1, 2)
    return bands + 0.4 * torch.randn(n, 5, size, size), cover


class FCN(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(5, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        self.classifier = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        return self.classifier(self.features(x))


def pixel_loss(logits, cover):
    flat = logits.permute(0, 2, 3, 1).reshape(-1, CLASSES)
    return F.cross_entropy(flat, cover.view(-1))


def train():
    torch.manual_seed(0)
    x, y = scenes(64)
    net = FCN()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(3):
        for rows in torch.randperm(len(x)).split(16):
            loss = pixel_loss(net(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


train()
