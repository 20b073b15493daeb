import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(0)
class Pts(Dataset):
    def __init__(self, x, y):
        self.x, self.y, self.train = x, y, True
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        x = self.x[i]
        if self.train:
            x = x * (torch.rand(x.shape) > 0.3)
        return x, self.y[i]
ds = Pts(torch.randn(200, 8), torch.randint(0, 2, (200,)))
tr, va = random_split(ds, [150, 50])
va.dataset.train = False  # <- finding
dl, vl = DataLoader(tr, 25, shuffle=True), DataLoader(va, 25)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
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
