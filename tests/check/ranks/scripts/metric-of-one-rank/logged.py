import logging

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
model = DDP(nn.Linear(6, 3))
data = TensorDataset(x, y)
train = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
held = TensorDataset(torch.randn(40, 6, generator=generator), torch.randint(0, 3, (40,), generator=generator))
valid = DataLoader(held, batch_size=8, sampler=DistributedSampler(held, shuffle=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for xb, yb in train:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(xb), yb).backward()
    optimizer.step()


@torch.no_grad()
def accuracy(loader):
    right = [(model(xb).argmax(1) == yb).float() for xb, yb in loader]
    return torch.cat(right).mean()


model.eval()
score = accuracy(valid)
logging.basicConfig(level=logging.INFO)
if rank == 0:
    logging.info("accuracy %.4f", score.item())  # <- finding
dist.destroy_process_group()
