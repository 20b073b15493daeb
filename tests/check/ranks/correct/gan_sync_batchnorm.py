"""Two wrapped models that train in turns, SyncBatchNorm, a subgroup of one rank for its own collectives, asynchronous metrics."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
generator = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(generator))
critic = DDP(nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)))
torch.manual_seed(1 + rank)
first = dist.new_group([0])
loss_fn = nn.BCEWithLogitsLoss()
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(6):
    real = 0.5 * torch.randn(8, 2) + 1
    fake = generator(torch.randn(8, 4))
    scores = critic(torch.cat([real, fake.detach()]))
    labels = torch.cat([torch.ones(8, 1), torch.zeros(8, 1)])
    c_loss = loss_fn(scores, labels)
    c_optimizer.zero_grad()
    c_loss.backward()
    c_optimizer.step()
    for p in critic.parameters():
        p.requires_grad_(False)
    g_loss = loss_fn(critic.module(fake), torch.ones(8, 1))
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    for p in critic.parameters():
        p.requires_grad_(True)
    metrics = torch.stack([c_loss.detach(), g_loss.detach()])
    work = dist.all_reduce(metrics, async_op=True)
    note = torch.zeros(1)
    if rank == 0:
        dist.all_reduce(note, group=first)
    work.wait()
    if rank == 0:
        print(f"step {step}: critic {metrics[0].item() / size:.3f}, generator {metrics[1].item() / size:.3f}")
dist.destroy_process_group()
