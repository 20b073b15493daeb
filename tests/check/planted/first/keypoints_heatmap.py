"""Regress the position of a blob in an image from a predicted heat map."""
import torch
import torch.nn as nn

SIZE = 12


def make_batch(n):
    yy, xx = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    c = torch.rand(n, 2) * (SIZE - 3) + 1
    d = (yy[None] - c[:, :1, None]) ** 2 + (xx[None] - c[:, 1:, None]) ** 2
    img = torch.exp(-d / 3.0) + 0.05 * torch.randn(n, SIZE, SIZE)
    return img.unsqueeze(1), c


class KeypointNet(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(),
            nn.Conv2d(ch, 1, 1),
        )
        self.scale = nn.Parameter(torch.ones(2))
        self.shift = nn.Parameter(torch.zeros(2))

    def decode(self, heat):
        b = heat.shape[0]
        flat = heat.view(b, -1)
        idx = flat.argmax(dim=1)  # BUG gradient-cut
        coords = torch.stack([idx // SIZE, idx % SIZE], dim=1).float()
        return coords * self.scale + self.shift

    def forward(self, x):
        return self.decode(self.trunk(x))


def train(steps=200, batch=32):
    net = KeypointNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(steps):
        img, target = make_batch(batch)
        loss = nn.functional.smooth_l1_loss(net(img), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        img, target = make_batch(256)
        err = (net(img) - target).norm(dim=1).mean()
    print(f"mean pixel error {err:.3f}")


torch.manual_seed(0)
train()
