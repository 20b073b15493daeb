"""The sampler gets a weight for each class instead of one for each row."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
y = (torch.rand(120) < 0.2).long()
x = torch.randn(120, 3) + y[:, None]
weights = 1.0 / torch.bincount(y)
sampler = WeightedRandomSampler(weights, num_samples=120)  # <- finding
loader = DataLoader(TensorDataset(x, y), batch_size=20, sampler=sampler)
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
