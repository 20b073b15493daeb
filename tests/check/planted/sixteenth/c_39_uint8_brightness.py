import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


def jitter_brightness(img, delta):
    out = img + np.uint8(delta)  # BUG uint8-overflow|dtype|device-dtype-mixed
    return out.clip(0, 255)  # BUG uint8-overflow|dtype|device-dtype-mixed


class BrightDark(Dataset):
    def __init__(self, n=300):
        rng = np.random.default_rng(3)
        self.y = rng.integers(0, 2, n)
        self.img = rng.integers(60, 180, (n, 10, 10)).astype(np.uint8)
        for k in range(n):
            if self.y[k]:
                self.img[k, 3:7, 3:7] = 215
            else:
                self.img[k, 3:7, 3:7] = 20
        self.rng = rng

    def __len__(self):
        return len(self.y)

    def __getitem__(self, k):
        img = jitter_brightness(self.img[k], self.rng.integers(0, 80))
        return torch.from_numpy(img).float().unsqueeze(0) / 255, int(self.y[k])


torch.manual_seed(0)
dl = DataLoader(BrightDark(), batch_size=30, shuffle=True)
net = nn.Sequential(nn.Flatten(), nn.Linear(100, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    acc, brightest = 0, 0.0
    for x, y in dl:
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc += (out.argmax(1) == y).sum().item()
        brightest += x[y == 1][:, 0, 3:7, 3:7].mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc / 300:.3f} bright patch {brightest / len(dl):.3f}")
