import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

generator = torch.Generator().manual_seed(3)
x, y = torch.randn(64, 6, generator=generator), torch.randint(0, 3, (64,), generator=generator)

torch.manual_seed(0)
model = DDP(nn.Linear(6, 3))
data = TensorDataset(x, y)
mine = torch.utils.data.Subset(data, range(40) if rank == 0 else range(40, 64))
loader = DataLoader(mine, batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    with model.join():
        for xb, yb in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(xb), yb).backward()
            optimizer.step()
dist.destroy_process_group()
