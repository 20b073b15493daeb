import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(2)


def residual_branch(width):
    """The last layer begins at zero, so that the block begins as the identity."""
    last = nn.Linear(width, width)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), last)


class ResNet(nn.Module):
    def __init__(self, width=24, blocks=3):
        super().__init__()
        self.inp = nn.Linear(5, width)
        self.blocks = nn.ModuleList([residual_branch(width) for _ in range(blocks)])
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + b(h)
        return self.out(h)


X = torch.randn(500, 5)
y = (X[:, 0] * X[:, 1] > 0).long() + (X[:, 2] > 0.5).long()
net = ResNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(20):
    for idx in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(net(X[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            acc = (net(X[400:]).argmax(1) == y[400:]).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} acc {acc:.3f}")
