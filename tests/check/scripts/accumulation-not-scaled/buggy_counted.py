"""The optimizer steps after every fourth batch, and each batch counts as if it were alone."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 6)
y = (x[:, 0] + x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
accumulate = 4
for epoch in range(2):
    for i, (inputs, labels) in enumerate(loader):
        loss = criterion(model(inputs), labels)
        loss.backward()  # <- finding
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, loss.item())
