"""The averaged probabilities of two networks, scaled by a temperature, go into cross entropy."""

import torch
from torch import nn

torch.manual_seed(0)
nets = nn.ModuleList([nn.Linear(6, 4) for _ in range(2)])
optimizer = torch.optim.SGD(nets.parameters(), lr=0.5)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(24, 6), torch.randint(0, 4, (24,))
for _ in range(5):
    members = [torch.softmax(net(x), dim=1) for net in nets]  # <- finding
    average = torch.stack(members).mean(dim=0)
    loss = criterion(average / 0.5, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
