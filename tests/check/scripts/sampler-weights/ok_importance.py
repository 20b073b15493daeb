"""Weights by the difficulty of rows, which have nothing to do with their class."""

import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
y = (torch.rand(90) < 0.3).long()
x = torch.randn(90, 3)
sampler = WeightedRandomSampler(x.norm(dim=1), 90)
loader = DataLoader(TensorDataset(x, y), batch_size=30, sampler=sampler)
print(sum(len(rows) for rows, _ in loader))
