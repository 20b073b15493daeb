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
for step in range(6):
    rows = slice(step * 8 + 4 * rank, step * 8 + 4 * rank + 4)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    loss.backward()
    for group in optimizer.param_groups:
        group["lr"] = 0.1 / (1.0 + loss.item())  # <- finding
    optimizer.step()
dist.destroy_process_group()
