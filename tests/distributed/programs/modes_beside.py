"""Modes of data parallel training, and what collectives refuse: PyTorch's gloo and Pellucid's MPI print the same.

python modes_beside.py [torch]
"""

import json
import sys
import warnings

import numpy as np

if sys.argv[1:] != ["torch"]:
    import pellucid

    pellucid.interop.as_torch()
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
values = np.random.default_rng(5)
WEIGHTS = [
    torch.tensor(values.standard_normal(shape), dtype=torch.float32)
    for shape in ((16, 6), (16,), (16, 16), (16,), (3, 16), (3,))
]
said = {}


def net():
    made = nn.Sequential(
        nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)
    )
    with torch.no_grad():
        for p, w in zip(made.parameters(), WEIGHTS, strict=True):
            p.copy_(w / 4)
    return made


def data(step):
    numbers = np.random.default_rng(100 * step + rank).standard_normal((8, 6))
    x = torch.tensor(numbers, dtype=torch.float32)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def train(name, model, optimizer=None, uneven=False, accumulate=False):
    """The losses of this rank, and the sums of the parameters."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for step in range(6 - (rank if uneven else 0)):
        x, y = data(step)
        if accumulate:
            with model.no_sync():
                (F.cross_entropy(model(x), y) / 2).backward()
            x, y = data(step + 50)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    said[name] = losses


def sums(name, model, *more):
    said[name] = [p.detach().double().sum().item() for p in model.parameters()], *more


def each(name, model, **options):
    train(name, model, **options)
    sums(f"{name}: parameters", model)


each("plain", DDP(net()))
each("static graph", DDP(net(), static_graph=True))
each("views of buckets", DDP(net(), gradient_as_bucket_view=True))
each("small buckets", DDP(net(), bucket_cap_mb=0.0005))
each("no_sync", DDP(net()), accumulate=True)
for initial in (True, False):
    model = DDP(net())
    with model.join(divide_by_initial_world_size=initial):
        train(f"join {initial}", model, uneven=True)
    sums(f"join {initial}: parameters", model)
model = DDP(net())
model.register_comm_hook(None, default_hooks.allreduce_hook)
each("hook", model)
model = DDP(net())
model.register_comm_hook(None, default_hooks.fp16_compress_hook)
each("half hook", model)
model = DDP(net())
state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=4)
model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
train("PowerSGD", model)


def own(state, bucket):
    work = dist.all_reduce(bucket.buffer().div_(size), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


model = DDP(net())
model.register_comm_hook(None, own)
each("own hook", model)


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = net(), net(), net()

    def forward(self, x):
        return self.a(x) + (self.b(x) if rank == 0 else 0)


model = DDP(Parts(), find_unused_parameters=True)
each("unused", model)
said["no gradient"] = model.module.c[0].weight.grad is None
for kind, options in ((torch.optim.AdamW, {"lr": 1e-2}), (torch.optim.SGD, {"lr": 0.1})):
    model = DDP(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), kind, **options)
    each(f"ZeRO {kind.__name__}", model, optimizer=optimizer)
    optimizer.consolidate_state_dict(0)
    if rank == 0:
        state = optimizer.state_dict()["state"]
        said[f"ZeRO {kind.__name__}: state"] = [[k, *sorted(v)] for k, v in sorted(state.items())]
model = DDP(net())
optimizer = ZeroRedundancyOptimizer(
    model.parameters(), torch.optim.SGD, parameters_as_bucket_view=True, lr=0.1
)
with Join([model, optimizer]):
    train("ZeRO join", model, optimizer=optimizer, uneven=True)
sums("ZeRO join: parameters", model)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.norm = net(), nn.BatchNorm1d(3)
        self.register_buffer("own", torch.tensor(float(rank)))

    def forward(self, x):
        return self.norm(self.net(x)) + self.own * 0


for options in ({}, {"broadcast_buffers": False}, {"forward_sync_buffers": False}):
    model = DDP(Norm(), **options)
    train(f"buffers {options}", model)
    more = model.module.own.item(), model.module.norm.running_mean.tolist()
    sums(f"buffers {options}: parameters", model, *more)


def noted(bucket: int, state: int) -> int:
    return bucket


ones, ints = torch.ones(2), torch.ones(2, dtype=torch.int32)
for name, call in {
    "root": lambda: dist.broadcast(ones, 7),
    "gather": lambda: dist.gather(ones, [ones] * (1 + rank), dst=0),
    "scatter": lambda: dist.scatter(ones, [ones] * 3, 0),
    "scatter none": lambda: None if rank else dist.scatter(ones, None, 0),
    "list": lambda: dist.all_gather([ones], ones),
    "dtype": lambda: dist.all_gather([ints] * size, ones),
    "to itself": lambda: dist.send(ones, rank),
    "no tensor": lambda: dist.all_reduce([1.0]),
    "operation": lambda: dist.all_reduce(ones, "sum"),
    "bits": lambda: dist.all_reduce(ones, dist.ReduceOp.BXOR),
    "into": lambda: dist.all_gather_into_tensor(torch.ones(3), ones),
    "ranks": lambda: dist.new_group([0, 9]),
    "rank of the world": lambda: dist.get_group_rank(dist.group.WORLD, 9),
    "no parameters": lambda: DDP(nn.Sequential()),
    "devices": lambda: DDP(net(), device_ids=[0]),
    "no hook": lambda: DDP(net()).register_comm_hook(None, 3),
    "hook of one": lambda: DDP(net()).register_comm_hook(None, lambda a: a),
    "hook of an int": lambda: DDP(net()).register_comm_hook(None, noted),
}.items():
    try:
        said[f"error {name}"] = call()
    except Exception as error:
        said[f"error {name}"] = type(error).__name__, str(error).split("\n")[0]
dist.barrier()
print("said " + json.dumps(said))
dist.destroy_process_group()
