"""The encoder's output is detached on its way to the loss."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        features = self.encoder(x)
        return self.head(features.detach())  # <- finding


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(5):
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
