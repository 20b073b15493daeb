import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

total = torch.full((1000,), float(rank))
work = dist.all_reduce(total, async_op=True)
other = torch.rand(100).sum()
mean = total / size  # <- finding
work.wait()
print(total.sum().item() + other.item() > 0)
dist.destroy_process_group()
