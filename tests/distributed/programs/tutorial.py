"""As PyTorch's tutorial of DistributedDataParallel has it: processes of `mp.spawn`, a process
group, a model, a sampler.
"""

import os

if __name__ == "__main__" or "MASTER_PORT" in os.environ and "RANKS_OF_TUTORIAL" in os.environ:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    import torch.nn as nn
    import torch.optim as optim
    from torch.nn.parallel import DistributedDataParallel as DDP
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.data.distributed import DistributedSampler


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


def run(rank, world_size):
    setup(rank, world_size)
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    model = DDP(nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)))
    generator = torch.Generator().manual_seed(7)
    data = TensorDataset(
        torch.randn(512, 20, generator=generator), torch.randint(0, 5, (512,), generator=generator)
    )
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    optimizer, loss_fn = optim.SGD(model.parameters(), lr=0.05), nn.CrossEntropyLoss()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} sum of losses {total.item():.6f}", flush=True)
    dist.barrier()
    cleanup()


if __name__ == "__main__":
    os.environ["RANKS_OF_TUTORIAL"] = "2"
    world_size = 2
    mp.spawn(run, args=(world_size,), nprocs=world_size, join=True)
