"""Tensors that every model computes alike, and what the last call has left."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = torch.arange(6).float() / 6
        self.fc, self.seen = nn.Linear(6, 6), torch.zeros(1, 6)

    def forward(self, x):
        out = self.fc(x + self.positions)
        self.seen = out.detach()
        return out.sum(1)


x = torch.randn(20, 6)
model = Block()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
other = Block()
other.load_state_dict(model.state_dict())
print(torch.equal(other(x), model(x)))
