"""Sequence classifier with an exponential decay of the learning rate."""
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset


class GRUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 16, batch_first=True)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        _, h = self.gru(x)
        return self.fc(h[-1])


def data(n):
    x = torch.randn(n, 12, 1)
    return x, (x[:, -6:].sum((1, 2)) > 0).long()


def fit(net, loader, epochs):
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    sched = ExponentialLR(opt, gamma=0.5)
    for epoch in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        print(epoch, f"lr {sched.get_last_lr()[0]:.1e} loss {loss.item():.3f}")


torch.manual_seed(0)
net = GRUNet()
fit(net, DataLoader(TensorDataset(*data(960)), 32, shuffle=True), 5)
with torch.no_grad():
    x, y = data(400)
    print("acc", (net(x).argmax(1) == y).float().mean().item())
