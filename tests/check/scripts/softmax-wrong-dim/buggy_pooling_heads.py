"""Two-headed attention pooling over a set of measurements."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HeadPooling(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.score = nn.Linear(dim, heads, bias=False)
        self.softmax = nn.Softmax()  # <- finding

    def forward(self, items):
        weight = self.softmax(self.score(items))
        return torch.einsum("bth,btd->bhd", weight, items).flatten(1)


class SetNet(nn.Module):
    def __init__(self, features=3, dim=24):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(features, dim), nn.Tanh(), nn.Linear(dim, dim))
        self.pool = HeadPooling(dim)
        self.out = nn.Linear(2 * dim, 1)

    def forward(self, x):
        return self.out(self.pool(self.embed(x))).squeeze(-1)


def largest_item(n, length=10):
    """The target is a property of the item whose first feature is the largest one."""
    x = torch.randn(n, length, 3)
    top = x[:, :, 0].argmax(1)
    return x, x[torch.arange(n), top, 1]


x, y = largest_item(1200)
x_test, y_test = largest_item(300)
net = SetNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(200):
    idx = torch.randint(0, len(x), (64,))
    loss = F.mse_loss(net(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        with torch.no_grad():
            test = F.mse_loss(net(x_test), y_test).item()
        print(f"step {step + 1} train {loss.item():.3f} test {test:.3f}")
