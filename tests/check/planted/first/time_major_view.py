"""Sensor sequences in time-major order to a batch-first GRU."""
import torch
from torch import nn

T, B, F = 12, 32, 3


def sensors():
    """time-major recordings and the class of each recording"""
    y = torch.randint(0, 2, (B,))
    slope = torch.where(y == 1, 0.15, -0.15)
    x = torch.arange(T)[:, None, None] * slope[None, :, None] + 0.3 * torch.randn(T, B, F)
    return x + torch.randn(1, B, 1), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(F, 24, batch_first=True)
        self.fc = nn.Linear(24, 2)

    def forward(self, x):
        x = x.view(x.shape[1], x.shape[0], x.shape[2])  # BUG reshape-not-transpose
        _, h = self.gru(x)
        return self.fc(h[-1])


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
acc = []
for step in range(120):
    x, y = sensors()
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    acc.append((out.argmax(1) == y).float().mean().item())
print(f"accuracy on the last 20 fresh batches {sum(acc[-20:]) / 20:.3f}")
