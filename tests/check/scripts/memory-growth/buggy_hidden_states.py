"""A module remembers its activations for debugging, and forgets to forget them."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(16, 64)
        self.head = nn.Linear(64, 1)
        self.seen = []

    def forward(self, x):
        h = torch.relu(self.body(x))
        self.seen.append(h.detach().clone())  # <- finding
        return self.head(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(30):
    loss = net(torch.randn(16, 16)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
