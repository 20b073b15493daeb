import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

generator = torch.Generator().manual_seed(3)
x, y = torch.randn(64, 6, generator=generator), torch.randint(0, 3, (64,), generator=generator)

torch.manual_seed(0)
model = DDP(nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    rows = slice(step * 4 + 2 * rank, step * 4 + 2 * rank + 2)
    if rank == 1:
        time.sleep(0.1)  # a slow disk  # <- finding
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
    optimizer.step()
dist.destroy_process_group()
