"""A `worker_init_fn` gives each worker another row to begin with, but not its share."""

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(0)
x = torch.randn(96, 5)
y = x @ torch.randn(5, 1)


class Rows(IterableDataset):
    first = 0

    def __iter__(self):
        return (self.row((k + self.first) % len(x)) for k in range(len(x)))

    def row(self, k):
        return x[k], y[k]


def begin(worker):
    get_worker_info().dataset.first = 40 * worker


loader = DataLoader(Rows(), batch_size=16, num_workers=2, worker_init_fn=begin)  # <- finding
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
