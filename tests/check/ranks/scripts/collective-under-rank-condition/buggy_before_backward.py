import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)
model = DDP(nn.Linear(12, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(2, 40, 12)[rank], torch.randint(0, 3, (40,))

for step in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    if step % 4 == 3 and rank == 0:  # <- finding
        dist.all_reduce(total)
        print(f"step {step}: mean loss {total.item() / size:.3f}")
dist.destroy_process_group()
