import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

generator = torch.Generator().manual_seed(3)
x, y = torch.randn(64, 6, generator=generator), torch.randint(0, 3, (64,), generator=generator)

torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)))
data = TensorDataset(x, y)
local = int(os.environ.get("SLURM_PROCID", 0))
sampler = DistributedSampler(data, num_replicas=size, rank=local)  # <- finding
loader = DataLoader(data, batch_size=8, sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        optimizer.step()
dist.destroy_process_group()
