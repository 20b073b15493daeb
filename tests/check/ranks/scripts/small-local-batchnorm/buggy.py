import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
model = DDP(net)  # <- finding
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    generator = torch.Generator().manual_seed(10 * step + rank)
    images, labels = torch.randn(4, 1, 8, 8, generator=generator), torch.randint(0, 3, (4,), generator=generator)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
dist.destroy_process_group()
