"""Batch-normalised MLP on 257 rows."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(257, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)  # BUG batchnorm-batch-of-one
    net = nn.Sequential(nn.Linear(6, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(25):
        net.train()
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(net(xb), yb)  # BUG batchnorm-batch-of-one
            opt.zero_grad()
            loss.backward()
            opt.step()
    net.eval()
    xt = torch.randn(400, 6)
    with torch.no_grad():
        acc = (net(xt).argmax(1) == (xt[:, 0] * xt[:, 1] > 0).long()).float().mean()
    print("test acc", acc.item())


main()
