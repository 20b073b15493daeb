"""Activations are clipped through `.data`, which autograd does not notice: the gradients are wrong without an error."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 10)
        self.second = nn.Linear(10, 1)

    def forward(self, x):
        hidden = torch.exp(self.first(x))
        hidden.data.clamp_(max=2.0)  # <- finding
        return self.second(hidden)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(12, 5)
    loss = F.mse_loss(net(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
