"""The activation before the branch makes a new tensor."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branch = nn.Sequential(
            nn.ReLU(),
            nn.Conv1d(channels, channels, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv1d(channels, channels, 3, padding=1),
        )

    def forward(self, x):
        return x + self.branch(x)


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv1d(2, 8, 1), Block(8), Block(8), nn.Flatten(), nn.Linear(8 * 12, 3)
)
x, y = torch.randn(64, 2, 12), torch.randint(0, 3, (64,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
