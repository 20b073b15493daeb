"""train() is called once, and each evaluation ends with eval()."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
g = torch.Generator().manual_seed(5)


def make(n):
    y = torch.randint(0, 3, (n,), generator=g)
    x = 0.5 * torch.randn(n, 1, 12, 12, generator=g) + 4.0
    for k in range(3):
        x[y == k, :, 4 * k : 4 * k + 4, :] += 0.6
    return x * 3, y


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.b2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(16 * 9, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.max_pool2d(F.relu(self.b2(self.c2(x))), 2)
        return self.out(self.drop(x.flatten(1)))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


xtr, ytr = make(480)
xva, yva = make(240)
net = LeafNet()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
net.train()  # <- finding
print("before:", accuracy(net, xva, yva))

for epoch in range(6):
    for idx in torch.randperm(len(xtr), generator=g).split(48):
        loss = F.cross_entropy(net(xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    acc = accuracy(net, xva, yva)
    print(f"epoch {epoch}: loss {loss.item():.3f} val {acc:.3f} batches seen by BN {int(net.b1.num_batches_tracked)}")
