import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

samples = [1.0, 2.0, 3.0]
for step, value in enumerate(samples):
    if value < 0 and step % size == rank:
        raise ValueError(f"bad sample {step}")
    batch = torch.tensor([value])
    dist.all_reduce(batch)
dist.destroy_process_group()
