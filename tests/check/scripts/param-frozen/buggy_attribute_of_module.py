"""The backbone is frozen; its last block should be trained again, but `requires_grad` of a module means nothing."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.block = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.relu(self.block(torch.relu(self.stem(x)))))


torch.manual_seed(0)
net = Net()
for name, p in net.named_parameters():
    if not name.startswith("head"):
        p.requires_grad = False
net.block.requires_grad = True  # <- finding
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.01)
for _ in range(4):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
