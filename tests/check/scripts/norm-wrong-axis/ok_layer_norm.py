"""A convnet with layer norm over the channels."""
import torch
from torch import nn
from torch.nn import functional as F

SIZE = 12


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Conv2d(width, 2 * width, 1)
        self.down = nn.Conv2d(2 * width, width, 1)

    def forward(self, x):
        h = self.depthwise(x)
        h = self.norm(h.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return x + self.down(F.gelu(self.up(h)))


class Net(nn.Module):
    def __init__(self, width=SIZE, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def textures(n):
    y = torch.randint(0, 3, (n,))
    grid = torch.arange(SIZE).float()
    period = torch.tensor([2.0, 3.0, 4.0])[y]
    wave = torch.sin(2 * torch.pi * grid[None] / period[:, None])
    return wave[:, None, None, :] + 0.5 * torch.randn(n, 1, SIZE, SIZE), y


def main():
    torch.manual_seed(49)
    x, y = textures(160)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(4):
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(net(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


main()
