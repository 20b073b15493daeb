import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.head = nn.Linear(8, 3)
        self.auxiliary = nn.Linear(8, 1)

    def forward(self, x):
        hidden = self.body(x).relu()
        return self.head(hidden)


dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

generator = torch.Generator().manual_seed(3)
x, y = torch.randn(64, 6, generator=generator), torch.randint(0, 3, (64,), generator=generator)

torch.manual_seed(0)
model = DDP(Model())  # <- finding
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    rows = slice(step * 8 + 4 * rank, step * 8 + 4 * rank + 4)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
    optimizer.step()
dist.destroy_process_group()
