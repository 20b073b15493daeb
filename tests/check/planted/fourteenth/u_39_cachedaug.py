from functools import lru_cache
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def random_roll(img, gen=None):
    dy, dx = torch.randint(-4, 5, (2,)).tolist()
    return torch.roll(img, (dy, dx), dims=(-2, -1))


class Glyphs(Dataset):
    def __init__(self, n, seed, augment):
        g = torch.Generator().manual_seed(seed)
        shapes = torch.randn(4, 1, 5, 5, generator=torch.Generator().manual_seed(10)).sign()
        self.y = torch.randint(0, 4, (n,), generator=g)
        self.raw = torch.randn(n, 1, 12, 12, generator=g) * 0.6
        off = torch.randint(0, 8, (n, 2), generator=g).tolist()
        for i, (r, c) in enumerate(off):
            self.raw[i, :, r:r + 5, c:c + 5] += shapes[self.y[i]]
        self.augment = augment

    def __len__(self):
        return len(self.y)

    @lru_cache(maxsize=None)  # BUG same-mask
    def load(self, i):  # BUG same-mask
        """Expensive part: reading and normalising."""
        img = self.raw[i]
        img = (img - img.mean()) / img.std()
        if self.augment:
            img = random_roll(img)  # BUG same-mask
            img = img + 0.2 * torch.randn_like(img)
        return img

    def __getitem__(self, i):
        return self.load(i), self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 5, padding=2)
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(16 * 36, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.fc(F.max_pool2d(F.relu(self.conv(x)), 2))


def accuracy(net, dl):
    net.eval()
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in dl) / len(dl.dataset)


torch.manual_seed(0)
train_dl = DataLoader(Glyphs(160, 1, augment=True), batch_size=20, shuffle=True)
test_dl = DataLoader(Glyphs(400, 2, augment=False), batch_size=100)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for ep in range(30):
    net.train()
    for x, y in train_dl:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if ep % 10 == 0:
        print(ep, f"{loss.item():.3f} {accuracy(net, test_dl):.3f}")
print(f"final test acc {accuracy(net, test_dl):.3f} train loss {loss.item():.3f}")
