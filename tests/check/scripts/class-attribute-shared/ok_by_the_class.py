"""A count of all objects, which the class keeps under its own name."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    sizes = []

    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        Block.sizes.append(size)

    def forward(self, x):
        return x + self.fc(x).tanh()


x = torch.randn(40, 4)
first, second = Block(4), Block(4)
model = nn.Sequential(first, second, nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in x.split(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(rows), rows[:, :1])
    loss.backward()
    optimizer.step()
print(Block.sizes)
