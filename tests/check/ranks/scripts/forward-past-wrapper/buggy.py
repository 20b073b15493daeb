import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

generator = torch.Generator().manual_seed(3)
x, y = torch.randn(64, 6, generator=generator), torch.randint(0, 3, (64,), generator=generator)

torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    rows = slice(step * 8 + 4 * rank, step * 8 + 4 * rank + 4)
    optimizer.zero_grad()
    scores = model.module(x[rows])  # <- finding
    nn.functional.cross_entropy(scores, y[rows]).backward()
    optimizer.step()
with torch.no_grad():
    print(model.module(x).argmax(1).sum().item())
dist.destroy_process_group()
