"""A residual network (He et al., 2015) on images: colored shapes that it has to tell apart.

python resnet.py [--steps N] [--quick]
"""

import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def shapes(count, size, generator):
    """Squares, discs, crosses and rings in random colors and places, with noise."""
    labels = torch.randint(0, 4, (count,), generator=generator)
    centre = torch.rand(count, 2, generator=generator) * size * 0.4 + size * 0.3
    radius = torch.rand(count, generator=generator) * size * 0.1 + size * 0.15
    colour = torch.rand(count, 3, generator=generator) * 0.8 + 0.2
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    dy = yy[None] - centre[:, 0, None, None]
    dx = xx[None] - centre[:, 1, None, None]
    r = radius[:, None, None]
    far = torch.sqrt(dx**2 + dy**2)
    masks = torch.stack(
        [
            torch.maximum(dx.abs(), dy.abs()) < r,
            far < r,
            (torch.minimum(dx.abs(), dy.abs()) < r / 3) & (torch.maximum(dx.abs(), dy.abs()) < r),
            (far < r) & (far > r * 0.6),
        ]
    )
    mask = masks[labels, torch.arange(count)].float()
    images = mask[:, None] * colour[:, :, None, None] + 0.1 * torch.randn(
        count, 3, size, size, generator=generator
    )
    return images, labels


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(
            in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False
        )
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, widths, num_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        before = [widths[0], *widths[:-1]]
        self.layers = nn.Sequential(
            *[BasicBlock(a, b, 1 if a == b else 2) for a, b in zip(before, widths)]
        )
        self.linear = nn.Linear(widths[-1], num_classes)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layers(out)
        out = F.adaptive_avg_pool2d(out, 1).flatten(1)
        return self.linear(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="20 steps of a smaller network")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(3)
    size, widths, batch, steps = (
        (16, (8, 16), 16, 20) if args.quick else (32, (32, 64, 128), 32, args.steps)
    )
    model = ResNet(widths)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=steps)
    start = time.time()
    model.train()
    for step in range(1, steps + 1):
        images, labels = shapes(batch, size, generator)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if args.quick or step % 5 == 0:
            print(
                f"step {step:3d} loss {loss.item():.4f} learning rate {scheduler.get_last_lr()[0]:.5f}"
            )
    print(f"{steps} steps in {time.time() - start:.1f} s")
    model.eval()
    with torch.no_grad():
        images, labels = shapes(200, size, generator)
        print(f"accuracy {(model(images).argmax(1) == labels).float().mean().item():.2%}")


if __name__ == "__main__":
    main()
