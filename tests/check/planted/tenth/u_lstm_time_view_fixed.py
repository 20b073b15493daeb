"""Activity from sensors: all states of an LSTM go into the head."""

import torch
from torch import nn


class Activity(nn.Module):
    def __init__(self, channels=3, hidden=8, steps=10, classes=4):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden)
        self.head = nn.Linear(hidden * steps, classes)

    def forward(self, x):
        batch = x.size(0)
        states, _ = self.lstm(x.transpose(0, 1))
        return self.head(states.transpose(0, 1).reshape(batch, -1))


def signals(n):
    kind = torch.randint(0, 4, (n,))
    t = torch.arange(10.0)
    wave = torch.sin(t * (kind[:, None] + 1) * 0.5)
    return wave[..., None] + 0.2 * torch.randn(n, 10, 3), kind


torch.manual_seed(0)
model = Activity()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    x, y = signals(32)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3))
