"""Siamese verification with contrastive loss."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class PairsSet(Dataset):
    def __init__(self, n, protos):
        self.a = torch.randint(0, len(protos), (n,))
        same = torch.rand(n) < 0.5
        self.b = torch.where(same, self.a, (self.a + torch.randint(1, len(protos), (n,))) % len(protos))
        self.xa = protos[self.a] + 0.5 * torch.randn(n, protos.shape[1])
        self.xb = protos[self.b] + 0.5 * torch.randn(n, protos.shape[1])

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return self.xa[i], self.xb[i], (self.a[i] == self.b[i]).float()


def contrastive(za, zb, same, margin=1.0):
    d = (za - zb).pow(2).sum(1).add(1e-8).sqrt()
    return (same * d ** 2 + (1 - same) * (margin - d).clamp(min=0) ** 2).mean()


torch.manual_seed(0)
protos = torch.randn(8, 10)
train, test = PairsSet(1200, protos), PairsSet(400, protos)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 6, bias=False))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(6):
    for xa, xb, same in DataLoader(train, 40, shuffle=True):
        loss = contrastive(net(xa), net(xb), same)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
with torch.no_grad():
    d = (net(test.xa) - net(test.xb)).norm(dim=1)
    print("verification acc", ((d < 0.5) == (test.a == test.b)).float().mean().item())
