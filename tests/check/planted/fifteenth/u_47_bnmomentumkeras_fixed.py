"""Port of a Keras model: Conv + BatchNormalization(momentum=0.99)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

KERAS_DEFAULTS = {"momentum": 0.99, "epsilon": 1e-3}


def batch_norm(channels, momentum, epsilon):
    return nn.BatchNorm2d(channels, eps=epsilon, momentum=1 - momentum)


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        batch_norm(cout, **KERAS_DEFAULTS),
        nn.ReLU(),
    )


def data(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 8, 8) * (1 + y.view(-1, 1, 1, 1).float())
    return TensorDataset(x, y)


def evaluate(model, loader):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for x, y in loader:
            ok += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return ok / n


torch.manual_seed(0)
train_loader = DataLoader(data(480), batch_size=8, shuffle=True, drop_last=True)
val_loader = DataLoader(data(160), batch_size=80)
model = nn.Sequential(block(1, 8), block(8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, evaluate(model, val_loader))
