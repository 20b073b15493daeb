"""Two ranks are simulated in one process: together they see every sample."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

torch.manual_seed(8)
x = torch.randn(160, 4)
data = TensorDataset(x, x[:, :1] - x[:, 1:2])
samplers = [DistributedSampler(data, num_replicas=2, rank=rank) for rank in range(2)]
loaders = [DataLoader(data, batch_size=16, sampler=sampler) for sampler in samplers]
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    for sampler in samplers:
        sampler.set_epoch(epoch)
    for parts in zip(*loaders):
        optimizer.zero_grad()
        for inputs, targets in parts:
            (nn.functional.mse_loss(model(inputs), targets) / 2).backward()
        optimizer.step()
print(nn.functional.mse_loss(model(x), data.tensors[1]).item())
