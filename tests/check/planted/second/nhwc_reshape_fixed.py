"""Colour-pattern classifier on channels-last arrays."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)


def pictures(n, s=8):
    """class: which colour channel has a vertical gradient"""
    y = rng.integers(0, 3, n)
    img = rng.normal(scale=0.6, size=(n, s, s, 3)).astype(np.float32)
    ramp = np.linspace(-1.5, 1.5, s, dtype=np.float32)[:, None]
    for i in range(n):
        img[i, :, :, y[i]] += ramp
    return img, y


def to_tensor(img):
    t = torch.from_numpy(img)
    n, h, w, c = t.shape
    return t.permute(0, 3, 1, 2).contiguous()


torch.manual_seed(3)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(120):
    img, y = pictures(32)
    loss = nn.functional.cross_entropy(net(to_tensor(img)), torch.from_numpy(y))
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    img, y = pictures(300)
    print("acc", (net(to_tensor(img)).argmax(1) == torch.from_numpy(y)).float().mean().item())
