"""The loss of the epoch is summed as a tensor."""

import torch
from torch import nn


def train(model, loader, optimizer):
    total = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss  # <- finding
    return total / len(loader)


torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,)))
loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
model = nn.Linear(5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    print(epoch, train(model, loader, optimizer).item())
