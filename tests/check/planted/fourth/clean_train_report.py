"""Weights are rounded with a straight-through estimator; the report covers the training rows too."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class RoundedLinear(nn.Linear):
    def forward(self, x):
        step = self.weight.detach().abs().max() / 7
        rounded = (self.weight / step).round() * step
        weight = self.weight + (rounded - self.weight).detach()
        return F.linear(x, weight, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = RoundedLinear(12, 48), RoundedLinear(48, 3)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return self.b(self.drop(F.gelu(self.a(x))))


centers = torch.randn(3, 12)


def rows(n):
    y = torch.randint(0, 3, (n,))
    return TensorDataset(centers[y] + torch.randn(n, 12), y)


train_loader = DataLoader(rows(480), batch_size=48, shuffle=True)
val_loader = DataLoader(rows(144), batch_size=48)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)


@torch.no_grad()
def report(loader):
    was_training = net.training
    net.eval()
    hits = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
    net.train(was_training)
    return hits / len(loader.dataset)


for epoch in range(5):
    for x, y in train_loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    # both on purpose: the difference shows how much the net overfits
    print(f"epoch {epoch} train accuracy {report(train_loader):.3f} val accuracy {report(val_loader):.3f}")
