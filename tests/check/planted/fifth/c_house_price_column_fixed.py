"""House prices with a DataLoader."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Houses(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.area = torch.rand(n, generator=g) * 2
        self.rooms = torch.randint(1, 6, (n,), generator=g).float()
        self.age = torch.rand(n, generator=g)
        self.price = 1.5 * self.area + 0.3 * self.rooms - self.age + 0.05 * torch.randn(n, generator=g)

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return torch.stack([self.area[i], self.rooms[i] / 5, self.age[i]]), self.price[i]


torch.manual_seed(0)
train = DataLoader(Houses(512, 1), batch_size=32, shuffle=True)
test = Houses(200, 2)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(15):
    seen = total = 0
    for feats, price in train:
        pred = net(feats).squeeze(1)
        loss = ((pred - price) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(price)
        seen += len(price)
    if epoch % 5 == 4:
        print(f"epoch {epoch}: train mse {total / seen:.4f}")

with torch.no_grad():
    xs = torch.stack([test[i][0] for i in range(len(test))])
    ys = test.price
    p = net(xs).squeeze(1)
    r2 = 1 - ((p - ys) ** 2).sum() / ((ys - ys.mean()) ** 2).sum()
print(f"test R2 {r2:.4f}   spread of predictions {p.std():.4f} vs targets {ys.std():.4f}")
