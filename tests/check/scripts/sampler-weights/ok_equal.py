"""Classes of equal size, and weights of a part of the data for that part."""

import torch
from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
y = torch.arange(80) % 2
data = TensorDataset(torch.randn(80, 3), y)
part = list(range(0, 80, 3))
weights = torch.where(y == 1, 2.0, 1.0)
for dataset, chosen in ((data, weights), (Subset(data, part), weights[part])):
    sampler = WeightedRandomSampler(chosen, len(dataset))
    loader = DataLoader(dataset, batch_size=9, sampler=sampler)
    print(sum(len(rows) for rows, _ in loader))
