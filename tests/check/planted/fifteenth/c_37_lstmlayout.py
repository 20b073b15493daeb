"""Gesture recognition from accelerometer sequences."""
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class RNNConfig:
    input_size: int = 3
    hidden_size: int = 24
    num_layers: int = 1
    batch_first: bool = False  # BUG batch-first


class GestureNet(nn.Module):
    def __init__(self, cfg, classes):
        super().__init__()
        self.rnn = nn.LSTM(**asdict(cfg))  # BUG batch-first
        self.head = nn.Linear(cfg.hidden_size, classes)

    def forward(self, x):
        out, _ = self.rnn(x)  # BUG batch-first
        return self.head(out[:, -1])


def gestures(n, steps=20):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 6.28, steps)
    freq = (y + 1).float().view(-1, 1)
    base = torch.sin(freq * t + torch.rand(n, 1) * 6.28)
    x = torch.stack([base, base.roll(2, 1), torch.zeros(n, steps)], dim=2)
    return x + 0.2 * torch.randn_like(x), y


torch.manual_seed(0)
x, y = gestures(640)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = GestureNet(RNNConfig(), 3)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / len(loader))
