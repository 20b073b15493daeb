import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(0)
class Pts(Dataset):
    def __init__(self, n, augment=False):
        self.x = torch.randn(n, 2, 8, 8)
        self.y = (self.x.mean((1, 2, 3)) > 0).long()
        self.augment = augment
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        x = self.x[i]
        if self.augment:
            x = x + 0.2 * torch.randn_like(x)
        return x, self.y[i]
ds = Pts(200)
tr, va = random_split(ds, [150, 50])
tr = torch.utils.data.Subset(Pts(200, True), tr.indices)
tr.dataset.x, tr.dataset.y = ds.x, ds.y
dl = DataLoader(tr, batch_size=25, shuffle=True)
vl = DataLoader(va, batch_size=25)
net = nn.Sequential(nn.Flatten(), nn.Linear(128, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    net.train()
    for a, b in dl:
        opt.zero_grad()
        F.cross_entropy(net(a), b).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        ok = sum((net(a).argmax(1) == b).sum().item() for a, b in vl)
    print(ok / 50)
