import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Jitter:
    def __init__(self, std=0.5, scale=0.1):
        self.std, self.scale = std, scale

    def __call__(self, x):
        x.mul_(1 + self.scale * torch.randn(1))  # BUG sample-changed-in-place
        x.add_(self.std * torch.randn(x.shape))  # BUG sample-changed-in-place
        return x


class Signals(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]  # BUG sample-changed-in-place
        if self.transform:
            x = self.transform(x)
        return x, self.y[i]


def generate(n, seed, T=32):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.arange(T).float()
    freq = (0.3 + 0.25 * y.float())[:, None]
    phase = torch.rand(n, 1, generator=g) * 6.28
    x = torch.sin(freq * t + phase) + 0.3 * torch.randn(n, T, generator=g)
    return x[:, None], y


class Net1d(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv1d(1, c, 7, padding=3), nn.BatchNorm1d(c), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(c, c, 5, padding=2), nn.BatchNorm1d(c), nn.ReLU(), nn.AdaptiveMaxPool1d(1))
        self.fc = nn.Linear(c, 4)

    def forward(self, x):
        return self.fc(self.f(x).squeeze(-1))


def test_accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
train_ds = Signals(*generate(320, 1), transform=Jitter())
xt, yt = generate(300, 2)
loader = DataLoader(train_ds, batch_size=32, shuffle=True)
net = Net1d()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for ep in range(20):
    net.train()
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if ep % 5 == 0:
        print(f"epoch {ep} loss {total / len(loader):.3f} test {test_accuracy(net, xt, yt):.3f}")
print(f"final loss {total / len(loader):.3f} test acc {test_accuracy(net, xt, yt):.3f}")
