"""All but the head is frozen by its name, and the new adapter with it."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.adapter = nn.Linear(16, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(torch.relu(self.adapter(self.trunk(x))))


net = Net()
for name, parameter in net.named_parameters():
    if "head" not in name:  # <- finding
        parameter.requires_grad = False
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.01)
x = torch.randn(60, 6)
y = (x[:, 0] > 0).long()
for _ in range(6):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
