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
for step in range(3):
    optimizer.zero_grad()
    with model.no_sync():
        rows = slice(step * 16 + 8 * rank, step * 16 + 8 * rank + 4)
        (nn.functional.cross_entropy(model(x[rows]), y[rows]) / 2).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- finding
    rows = slice(step * 16 + 8 * rank + 4, step * 16 + 8 * rank + 8)
    (nn.functional.cross_entropy(model(x[rows]), y[rows]) / 2).backward()
    model.train()
    optimizer.step()
dist.destroy_process_group()
