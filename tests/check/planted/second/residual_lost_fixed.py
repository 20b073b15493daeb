"""Deep residual network with scaled branches."""
import torch
import torch.nn as nn


class ScaledBlock(nn.Module):
    def __init__(self, d, scale=0.1):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d, d), nn.Linear(d, d)
        self.scale = scale

    def forward(self, x):
        y = self.fc2(torch.relu(self.fc1(x)))
        return x + self.scale * y


class DeepRes(nn.Module):
    def __init__(self, n_in, n_out, d=32, depth=8):
        super().__init__()
        self.stem = nn.Linear(n_in, d)
        self.blocks = nn.ModuleList([ScaledBlock(d) for _ in range(depth)])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, n_out)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


def checker(n):
    x = torch.rand(n, 2) * 2 - 1
    return x, ((x[:, 0] > 0) ^ (x[:, 1] > 0)).long()


torch.manual_seed(0)
net = DeepRes(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(250):
    x, y = checker(64)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = checker(500)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == y).float().mean().item())
