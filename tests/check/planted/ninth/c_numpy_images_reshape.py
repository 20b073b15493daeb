# Photos come as height x width x channel from NumPy
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(17)
torch.manual_seed(17)
photos = rng.random((128, 12, 16, 3), dtype=np.float32)
kinds = rng.integers(0, 2, 128)
photos[kinds == 1, :, :, 0] *= 0.5


def to_batch(array):
    n, h, w, c = array.shape
    return torch.from_numpy(array).reshape(n, c, h, w)  # BUG reshape-not-transpose


net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for rows in np.split(rng.permutation(128), 4):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(to_batch(photos[rows])), torch.from_numpy(kinds[rows]))
        loss.backward()
        opt.step()
    print(loss.item())
