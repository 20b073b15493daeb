"""Validation meter that averages the accuracy and the loss of batches."""
from dataclasses import dataclass
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Meter:
    total: float = 0.0
    count: int = 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(self.count, 1)


def validate(net, loader):
    net.eval()
    acc, nll = Meter(), Meter()
    with torch.no_grad():
        for xb, yb in loader:
            out = net(xb)
            acc.update((out.argmax(1) == yb).float().mean().item(), len(yb))
            nll.update(nn.functional.cross_entropy(out, yb).item(), len(yb))
    net.train()
    return acc.mean, nll.mean


torch.manual_seed(1)
x = torch.randn(900, 4)
y = (x[:, 0] > 0).long()
xv = torch.randn(259, 4)
yv = (xv[:, 0] > 0).long()
yv[-3:] = 1 - yv[-3:]  # a few labels at the end of the file are known to be wrong
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
val = DataLoader(TensorDataset(xv, yv), batch_size=128)
for epoch in range(5):
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=90, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} validation acc {validate(net, val)[0]:.4f} nll {validate(net, val)[1]:.4f}")
with torch.no_grad():
    print("over all samples acc", round((net(xv).argmax(1) == yv).float().mean().item(), 4))
