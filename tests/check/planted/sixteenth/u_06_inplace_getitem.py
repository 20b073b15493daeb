import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class SpectraDataset(Dataset):
    def __init__(self, n=300, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, 3, (n,), generator=g)
        base = torch.randn(3, 32, generator=g) * 2
        self.data = 10 + base[self.targets] + 2 * torch.randn(n, 32, generator=g)
        self.mean = self.data.mean().item()
        self.std = self.data.std().item()

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        spectrum = self.data[i]
        spectrum -= self.mean  # BUG in-place-data|aliasing|sample-changed-in-place
        spectrum /= self.std  # BUG in-place-data|aliasing|sample-changed-in-place
        return spectrum, self.targets[i]


torch.manual_seed(0)
train_set = SpectraDataset()
loader = DataLoader(train_set, batch_size=30, shuffle=True)
net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(6):
    tot, m, s = 0.0, 0.0, 0.0
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        m, s = xb.mean().item(), xb.std().item()
    print(f"epoch {epoch} loss {tot / len(loader):.4f} input mean {m:.3f} std {s:.3f}")
