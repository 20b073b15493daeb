"""zero_grad stands before the loop instead of in it."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(net, loader, optimizer, criterion):
    net.train()
    optimizer.zero_grad()
    for images, labels in loader:
        loss = criterion(net(images), labels)
        loss.backward()  # <- finding
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 10), torch.randint(0, 3, (40,))), batch_size=10)
net = nn.Linear(10, 3)
print(train(net, loader, torch.optim.Adam(net.parameters()), nn.CrossEntropyLoss()))
