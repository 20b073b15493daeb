"""A part of the data, and weights for a validation part that is smaller."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
y = (torch.rand(100) < 0.3).long()
x = torch.randn(100, 3) + y[:, None]
data = TensorDataset(x, y)
train, held = list(range(80)), list(range(80, 100))
weights = (1.0 / torch.bincount(y).float())[y[held]]
loader = DataLoader(
    Subset(data, train), batch_size=20, sampler=WeightedRandomSampler(weights, 80)  # <- finding
)
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
