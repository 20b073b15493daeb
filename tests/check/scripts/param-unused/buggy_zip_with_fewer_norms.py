"""A loop over layers and norms ends with the norms."""

import torch
from torch import nn


class ConvNet(nn.Module):
    def __init__(self, widths=(1, 8, 8, 16, 16), dilations=(1, 2, 4, 8)):
        super().__init__()
        pairs = list(zip(widths, widths[1:], dilations))
        self.convs = nn.ModuleList(nn.Conv1d(a, b, 3, padding=d, dilation=d) for a, b, d in pairs)
        self.norms = nn.ModuleList(nn.GroupNorm(2, b) for _, b, _ in pairs[:-1])
        self.head = nn.Linear(widths[-1], 2)

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):  # <- finding
            x = torch.relu(norm(conv(x)))
        return self.head(x.mean(-1))


def signals(n):
    """Two spikes; are they close together (1) or far apart (0)?"""
    y = torch.randint(0, 2, (n,))
    x = 0.05 * torch.randn(n, 1, 48)
    start = torch.randint(0, 20, (n,))
    gap = torch.where(y == 1, torch.randint(5, 9, (n,)), torch.randint(12, 24, (n,)))
    rows = torch.arange(n)
    x[rows, 0, start] += 2
    x[rows, 0, start + gap] += 2
    return x, y


torch.manual_seed(0)
net = ConvNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    x, y = signals(64)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
x, y = signals(500)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
print("without gradient:", [k for k, p in net.named_parameters() if p.grad is None])
