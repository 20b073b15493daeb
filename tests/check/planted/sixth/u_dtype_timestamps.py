import numpy as np
import torch
import torch.nn as nn

# events of users: gaps between unix timestamps decide whether a bot is at work
rng = np.random.default_rng(2)
torch.manual_seed(2)


def make_user(bot):
    gaps = rng.normal(5.0, 0.2, 20) if bot else rng.gamma(2.0, 2.5, 20)
    return 1_700_000_000 + np.cumsum(np.abs(gaps))


class EventLog(torch.utils.data.Dataset):
    def __init__(self, n):
        self.bot = rng.integers(0, 2, n)
        self.stamps = [make_user(b) for b in self.bot]

    def __len__(self):
        return len(self.bot)

    def __getitem__(self, i):
        t = torch.as_tensor(self.stamps[i], dtype=torch.float32)  # BUG device-dtype-mixed
        gaps = t.diff()
        return (gaps - 5.0) / 5.0, int(self.bot[i])


train, test = EventLog(400), EventLog(200)
net = nn.Sequential(nn.Linear(19, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    for g, b in torch.utils.data.DataLoader(train, 32, shuffle=True):
        loss = nn.functional.cross_entropy(net(g), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    hits = sum((net(g).argmax(1) == b).sum().item() for g, b in torch.utils.data.DataLoader(test, 100))
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {hits / len(test):.3f}")
