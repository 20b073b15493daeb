"""An in-place ReLU after a convolution whose bias was set far below zero."""

import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.act = nn.ReLU(inplace=True)
        self.fc = nn.Linear(8, 2)
        self.conv.bias.data.fill_(-10)  # <- finding

    def forward(self, x):
        return self.fc(self.act(self.conv(x)).mean((2, 3)))


torch.manual_seed(0)
model = Small()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.rand(16, 1, 6, 6), torch.randint(0, 2, (16,))
for epoch in range(8):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
