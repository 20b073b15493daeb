import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

warnings.filterwarnings("ignore")


class Stage(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        self.norm = nn.LayerNorm(n_out)

    def forward(self, x):
        return F.relu(self.norm(self.fc(x)))


class CheckpointedNet(nn.Module):
    def __init__(self, n_in=2, width=16, classes=3):
        super().__init__()
        self.stem = nn.Sequential(Stage(n_in, width), Stage(width, width))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        if self.training:
            h = checkpoint(self.stem, x, use_reentrant=True)  # BUG gradient-cut
        else:
            h = self.stem(x)
        return self.head(h)


def pinwheel(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    r = 0.3 + torch.randn(n, generator=g).abs()
    a = y.float() * 2.0944 + 0.8 * r + 0.15 * torch.randn(n, generator=g)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


def main():
    torch.manual_seed(4)
    g = torch.Generator().manual_seed(4)
    x, y = pinwheel(1000, g)
    x_val, y_val = pinwheel(300, g)
    model = CheckpointedNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = model.stem[0].fc.weight.detach().clone()
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(1000, generator=g).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        moved = (model.stem[0].fc.weight.detach() - start).norm().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} stem moved {moved:.3f}")


main()
