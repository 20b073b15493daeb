"""Each worker shuffles all rows for itself."""

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(0)
x = torch.randn(96, 5)
y = x @ torch.randn(5, 1)


class Rows(IterableDataset):
    def __iter__(self):
        for k in torch.randperm(len(x)).tolist():
            yield x[k], y[k]


loader = DataLoader(Rows(), batch_size=16, num_workers=2)  # <- finding
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
