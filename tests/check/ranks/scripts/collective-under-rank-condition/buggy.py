import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

losses = torch.rand(4)


def report(step, loss):
    mean = loss.clone()
    loss = loss * 1.0
    if rank == 0:  # <- finding
        dist.all_reduce(mean)
        print(f"step {step}: mean loss {mean.item() / size:.3f}")


for step, loss in enumerate(losses):
    report(step, loss)
    dist.barrier()
dist.destroy_process_group()
