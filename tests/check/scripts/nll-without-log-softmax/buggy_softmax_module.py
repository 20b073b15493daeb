"""nn.Softmax at the end of a network for NLLLoss, with a DataLoader."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 24), nn.Tanh())
        self.head = nn.Linear(24, classes)
        self.squash = nn.Softmax(dim=1)  # <- finding

    def forward(self, x):
        return self.squash(self.head(self.body(x)))


torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(32, 5), torch.randint(0, 3, (32,))), batch_size=8, shuffle=True)
net, criterion = Net(5, 3), nn.NLLLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for features, target in loader:
        loss = criterion(net(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
