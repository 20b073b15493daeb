import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE = 12


class KeypointNet(nn.Module):
    """Finds one point in the picture and says whether it is bright or dark."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 3, padding=1)
        self.heat = nn.Conv2d(12, 1, 3, padding=1, bias=False)
        self.kind = nn.Linear(24, 2)

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        heat = self.heat(h).flatten(1)
        return self.locate(heat), self.kind(torch.cat([h.amax((2, 3)), h.amin((2, 3))], dim=1))

    def locate(self, heat):
        best = heat.argmax(dim=1)  # BUG gradient-cut
        row, col = (best // SIZE).float(), (best % SIZE).float()  # BUG gradient-cut
        return torch.stack([row, col], dim=1) / (SIZE - 1)


def pictures(n):
    row, col = torch.randint(1, SIZE - 1, (2, n))
    kind = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, SIZE, SIZE)
    value = torch.where(kind == 1, 3.0, -3.0)
    for dr, dc in [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]:
        x[torch.arange(n), 0, row + dr, col + dc] += value
    return x, torch.stack([row, col], 1).float() / (SIZE - 1), kind


x, point, kind = pictures(600)
x_val, point_val, kind_val = pictures(150)
net = KeypointNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    idx = torch.randint(0, 600, (40,))
    where, what = net(x[idx])
    loss = 10 * F.mse_loss(where, point[idx]) + F.cross_entropy(what, kind[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            where, what = net(x_val)
        error = (where - point_val).abs().mean().item()
        acc = (what.argmax(1) == kind_val).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} point error {error:.3f} kind accuracy {acc:.3f}")
