"""One weight for each row, the inverse of its class's count."""

import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
y = (torch.rand(120) < 0.2).long()
x = torch.randn(120, 3)
weights = (1.0 / torch.bincount(y).float())[y]
loader = DataLoader(
    TensorDataset(x, y), batch_size=20, sampler=WeightedRandomSampler(weights, 120)
)
print(sum(int(labels.sum()) for _, labels in loader))
