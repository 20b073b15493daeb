# Activations are limited to six, as in mobile networks
import torch
from torch import nn

torch.manual_seed(14)
net = nn.Sequential(
    nn.Linear(12, 32),
    nn.ReLU6(),
    nn.Linear(32, 32),
    nn.ReLU6(),
    nn.Linear(32, 3),
)
labels = torch.randint(0, 3, (300,))
x = torch.randn(3, 12)[labels] + 0.5 * torch.randn(300, 12)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[rows]), labels[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
