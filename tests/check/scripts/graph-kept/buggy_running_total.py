"""The mean loss of an epoch, summed up as tensors that still have their graphs."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 12)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def train_epoch(model, batches, optimizer):
    total_loss = 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss  # <- finding
    return total_loss / len(batches)


torch.manual_seed(0)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(8)]
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    print(f"epoch {epoch}: {train_epoch(model, batches, optimizer):.3f}")
