import torch
from torch import nn


class Stack(nn.Module):
    """Dense blocks one after the other, each followed by an activation."""

    def __init__(self, d, depth):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))  # BUG param-unused
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        for block in self.blocks:
            h = torch.relu(block(x))  # BUG param-unused
        return self.head(h)


torch.manual_seed(12)
x = torch.randn(400, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
model = Stack(10, 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(12):
    for rows in torch.randperm(400).split(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
