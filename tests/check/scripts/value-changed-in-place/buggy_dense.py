"""A dense block joins its input, which the branch has changed, and what the branch made of it."""

import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self, channels, grown):
        super().__init__()
        self.act = nn.LeakyReLU(0.1, inplace=True)  # <- finding
        self.conv = nn.Conv2d(channels, grown, 3, padding=1)

    def forward(self, x):
        new = self.conv(self.act(x))
        return torch.cat([x, new], dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.dense = Dense(4, 4)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.dense(self.stem(x)).mean((2, 3)))


torch.manual_seed(0)
model = Net()
x, y = torch.randn(40, 1, 6, 6), torch.randint(0, 2, (40,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
