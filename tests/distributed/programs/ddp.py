"""DistributedDataParallel in all its modes, held to one process with the whole batch. Runs with
PyTorch in Pellucid's place, too.
"""

import copy
import os
import sys
from collections import OrderedDict

if "torch" in sys.argv:
    import torch
else:
    import pellucid

    torch = pellucid.interop.as_torch()
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import (
    HierarchicalModelAverager,
)
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self, norm=None, extra=False):
        super().__init__()
        self.first, self.norm, self.second = (
            nn.Linear(6, 16),
            norm(16) if norm else nn.Identity(),
            nn.Linear(16, 3),
        )
        if extra:
            self.left, self.right, self.never = (
                nn.Linear(16, 16),
                nn.Linear(16, 16),
                nn.Linear(2, 2),
            )

    def forward(self, x, way=None):
        x = torch.relu(self.norm(self.first(x)))
        if way is not None:
            x = [self.left, self.right][way](x)
        return self.second(x)


class Wide(nn.Module):
    """Parameters of more than 64 KB, whose gradients two ranks reduce where they are."""

    def __init__(self, n):
        super().__init__()
        self.up, self.down = nn.Linear(n, 1100), nn.Linear(1100, n)

    def forward(self, x):
        return x + 0.01 * self.down(torch.tanh(self.up(x)))


def batch(step, size, per=8):
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(size * per, 6, generator=generator)
    return x, (x[:, :3] * 2).sin()


def equal_everywhere(model):
    """Whether all ranks hold the same bits."""
    flat = torch.cat([p.detach().reshape(-1).double() for p in model.parameters()])
    others = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(others, flat)
    return all(torch.equal(flat, other) for other in others)


def train(model, mine, steps=60, accumulate=1, hook=None, momentum=0.9, **options):
    """Losses of the whole batch; `mine` gives this rank's part of it."""
    size = dist.get_world_size() if mine is not None else 1
    if mine is not None:
        model = DDP(model, **options)
        if hook is not None:
            model.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for part in range(accumulate):
            x, y = batch(step * accumulate + part, dist.get_world_size())
            x, y = (x, y) if mine is None else (x.chunk(size)[mine], y.chunk(size)[mine])
            if mine is not None and part < accumulate - 1:
                with model.no_sync():
                    loss = ((model(x) - y) ** 2).mean() / accumulate
                    loss.backward()
            else:
                loss = ((model(x) - y) ** 2).mean() / accumulate
                loss.backward()
            total += loss.item()
        optimizer.step()
        whole = torch.tensor([total], dtype=torch.float64)
        if mine is not None:
            dist.all_reduce(whole)
        losses.append(whole.item() / size)
    return losses, model


def compare(name, make, tolerance=2e-6, **options):
    rank = dist.get_rank()
    torch.manual_seed(0)
    alone, _ = train(make(), None, accumulate=options.get("accumulate", 1))
    torch.manual_seed(rank)  # rank 0's parameters count
    losses, model = train(make(), rank, **options)
    worst = max(abs(a - b) / a for a, b in zip(alone, losses))
    assert worst < tolerance, (name, worst, alone[:3], losses[:3])
    assert equal_everywhere(model), name
    if rank == 0:
        print(f"{name}: {losses[0]:.6f} {losses[-1]:.6f}, {worst:.1e} from one process")


def modes():
    compare("plain", Net)
    compare("small buckets", Net, bucket_cap_mb=0.0001)
    compare("views", Net, gradient_as_bucket_view=True)
    compare("static", Net, static_graph=True)
    compare("accumulated", Net, accumulate=3)
    compare("accumulated views", Net, accumulate=2, gradient_as_bucket_view=True)
    compare("large", lambda: Net(Wide))
    compare("large, accumulated", lambda: Net(Wide), accumulate=2)
    compare("large, in two buckets", lambda: Net(Wide), bucket_cap_mb=0.08)
    compare("hook", Net, hook=default_hooks.allreduce_hook)
    if "torch" not in sys.argv:  # PyTorch's needs a GPU
        compare("bf16 hook", Net, tolerance=0.05, hook=default_hooks.bf16_compress_hook)
    compare(
        "synchronised norm",
        lambda: nn.SyncBatchNorm.convert_sync_batchnorm(Net(nn.BatchNorm1d)) if NORM else Net(),
        tolerance=2e-5,
    )


def kept():
    """Gradients that somebody keeps stay as they were, and one that is taken away is made anew."""
    model = DDP(Net(Wide))
    means = []
    for step in range(3):
        model.zero_grad()
        (model(batch(step, 1)[0] + dist.get_rank()) ** 2).mean().backward()
        means.append([(p.grad, p.grad.clone()) for p in model.parameters()])
    assert all(torch.equal(grad, copied) for step in means for grad, copied in step)
    weight = model.module.norm.up.weight
    weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad * 2))
    model.zero_grad()
    (model(batch(2, 1)[0] + dist.get_rank()) ** 2).mean().backward()
    assert equal_everywhere(Gradients(model))


class Gradients(nn.Module):
    """The gradients of a model, as parameters."""

    def __init__(self, model):
        super().__init__()
        self.all = nn.ParameterList([nn.Parameter(p.grad.clone()) for p in model.parameters()])


def compressed():
    """Gradients as products of narrow matrices: the loss falls, replicas stay equal, and random
    numbers are not touched.
    """
    size, rank = dist.get_world_size(), dist.get_rank()
    for hook, name in (
        (power.powerSGD_hook, "power sgd"),
        (power.batched_powerSGD_hook, "batched power sgd"),
    ):
        for options in (
            {"matrix_approximation_rank": 2},
            {"use_error_feedback": False, "warm_start": False},
        ):
            if "torch" in sys.argv and "batched" in name:
                continue  # PyTorch 2.13's fails
            torch.manual_seed(2)
            model = DDP(Net())
            state = power.PowerSGDState(None, **{"start_powerSGD_iter": 3} | options)
            model.register_comm_hook(state, hook)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
            stream = torch.get_rng_state()
            losses = []
            for step in range(30):
                x, y = batch(step % 4, size)
                optimizer.zero_grad()
                loss = ((model(x.chunk(size)[rank]) - y.chunk(size)[rank]) ** 2).mean()
                loss.backward()
                optimizer.step()
                dist.all_reduce(loss.detach_())
                losses.append(loss.item() / size)
            assert equal_everywhere(model) and torch.equal(stream, torch.get_rng_state())
            assert sum(losses[-4:]) < 0.95 * sum(losses[:4]), losses  # of the same four batches
            if rank == 0:
                kind = "with feedback" if "matrix_approximation_rank" in options else "plain"
                print(f"{name} {kind}: {losses[4]:.6f} {losses[-1]:.6f}")
    power.PowerSGDState(None, use_error_feedback=False, warm_start=False, start_powerSGD_iter=0)
    try:
        power.PowerSGDState(None, start_powerSGD_iter=1)
    except ValueError as error:
        assert "PowerSGD can only be applied after the first two iterations in DDP" in str(error)
    else:
        raise AssertionError("too early")


def unused():
    """Which way is taken differs from rank to rank; one layer is never used."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    model = DDP(Net(extra=True), find_unused_parameters=True)
    x, y = batch(1, size)
    x, y = x.chunk(size)[rank], y.chunk(size)[rank]
    for _ in range(2):
        ((model(x, rank % 2) - y) ** 2).mean().backward()
    assert model.module.never.weight.grad is None
    shares = [torch.empty(16, 16) for _ in range(size)]
    dist.all_gather(shares, model.module.left.weight.grad)
    assert all(torch.equal(s, shares[0]) for s in shares) and shares[0].abs().sum() > 0
    model = DDP(Net(extra=True))
    ((model(x, 0) - y) ** 2).mean().backward()
    try:
        model(x, 0)
    except RuntimeError as error:
        assert "Expected to have finished reduction in the prior iteration" in str(error)
        assert f"did not receive grad for rank {rank}: 6 7 8 9" in str(error), str(error)[-300:]
        notes = "\n".join(getattr(error, "__notes__", ()))
        assert (
            "torch" in sys.argv
            or "never.weight [2, 2]: forward's result does not depend on it" in notes
        ), notes
    else:
        raise AssertionError("unused parameters were not noticed")


def uneven():
    """Ranks with different numbers of batches."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(7)
    model = DDP(nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for step in range(3 + 2 * rank):
            x, y = batch(step, size)
            optimizer.zero_grad()
            ((model(x.chunk(size)[rank]) - y.chunk(size)[rank]) ** 2).mean().backward()
            optimizer.step()
    assert equal_everywhere(model)
    if rank == 0:
        print(
            "uneven:", *[f"{v:.6f}" for v in model.module.weight.detach().reshape(-1)[:3].tolist()]
        )


def two_things_without_data():
    """`Join` over a model and a counter of one's own; early termination."""
    rank = dist.get_rank()

    class Hook(JoinHook):
        def main_hook(self):
            dist.all_reduce(torch.zeros(1))

    class Counter(Joinable):
        def __init__(self):
            super().__init__()
            self.count = 0.0

        def __call__(self):
            Join.notify_join_context(self)
            one = torch.ones(1)
            dist.all_reduce(one)
            self.count += one.item()

        def join_hook(self, **kwargs):
            return Hook()

        join_device = property(lambda self: torch.device("cpu"))
        join_process_group = property(lambda self: dist.group.WORLD)

    torch.manual_seed(1)
    model, counter = DDP(nn.Linear(6, 3)), Counter()
    with Join([model, counter], divide_by_initial_world_size=False):
        for step in range(2 + rank):
            model(torch.full((2, 6), rank + step + 1.0)).sum().backward()
            counter()
    assert counter.count == sum(dist.get_world_size() - k for k in (0, 0, *range(1, rank + 1)))
    counter()
    try:
        with Join([counter], throw_on_early_termination=True):
            for _ in range(2 + rank):
                counter()
    except RuntimeError as error:
        text = "exhausted all inputs" if rank == 0 else "at least one rank that exhausted inputs"
        assert text in str(error), error
    else:
        raise AssertionError("nobody noticed")


def graphs():
    """Unused parameters of static graphs, reentrant checkpoints, gradients of embeddings."""

    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.bag = nn.Embedding(6, 3, sparse=True), nn.EmbeddingBag(6, 3, sparse=True)
            self.out = nn.Linear(3, 2)

        def forward(self, x):
            return self.out(self.bag(x) + self.e(x[:, 0]))

    class Checkpointed(Net):
        def __init__(self):
            super().__init__()
            self.left = nn.Linear(16, 16)

        def forward(self, x):
            return self.second(checkpoint(self.inner, self.first(x), use_reentrant=True))

        def inner(self, x):
            return self.left(x).relu()

    rank, size = dist.get_rank(), dist.get_world_size()
    for name, make, options in (
        ("static unused", lambda: Net(extra=True), {"static_graph": True}),
        ("static checkpoint", Checkpointed, {"static_graph": True}),
        ("checkpoint", Checkpointed, {}),
        ("sparse", Table, {}),
    ):
        torch.manual_seed(3)
        model = copy.deepcopy(DDP(make(), **options))
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
        for step in range(4):
            x, _ = batch(step, size)
            x = x.chunk(size)[rank]
            optimizer.zero_grad()
            loss = model((x * 9).long() % 6 if name == "sparse" else x).pow(2).mean()
            loss.backward()
            optimizer.step()
            dist.all_reduce(loss.detach_())
            losses.append(loss.item() / size)
        assert equal_everywhere(model), name
        assert name != "sparse" or model.module.e.weight.grad.is_sparse
        if rank == 0:
            print(f"{name}: {losses[0]:.6f} {losses[-1]:.6f}")


def averaged():
    """Models that train apart and are averaged now and then."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for name in ("periodic", "hierarchical", "after local steps"):
        torch.manual_seed(4)
        model = Net()
        if name == "hierarchical":
            averager = HierarchicalModelAverager(OrderedDict([(2, size)]), warmup_steps=1)
        else:
            averager = PeriodicModelAverager(period=2, warmup_steps=2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if name == "after local steps":
            model, alone = DDP(model), dist.new_subgroups(1)[0]
            model.register_comm_hook(PostLocalSGDState(None, alone, 2), post_localSGD_hook)
            optimizer = PostLocalSGDOptimizer(optimizer, averager)
        losses = []
        for step in range(7):
            x, y = batch(step, size)
            optimizer.zero_grad()
            loss = ((model(x.chunk(size)[rank]) - y.chunk(size)[rank]) ** 2).mean()
            loss.backward()
            optimizer.step()
            if name != "after local steps":
                averager.average_parameters(model.parameters())
            losses.append(loss.item())
        assert equal_everywhere(model), name  # the seventh step ends with an average
        if rank == 0:
            print(f"{name}: {losses[1]:.6f} {losses[-1]:.6f}")


def buffers_and_sampler():
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    model = DDP(Net(nn.BatchNorm1d))
    x, _ = batch(rank, size)
    model(x).sum().backward()
    model(x)
    means = [torch.empty(16) for _ in range(size)]
    dist.all_gather(means, model.module.norm.running_mean)
    data = TensorDataset(torch.arange(23))
    seen = []
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        seen.append(
            [int(v) for (part,) in DataLoader(data, batch_size=4, sampler=sampler) for v in part]
        )
    everybody = [None] * size
    dist.all_gather_object(everybody, seen)
    for epoch in range(2):
        assert {v for one in everybody for v in one[epoch]} == set(range(23))
    assert everybody[0][0] != everybody[0][1]
    assert all(key.startswith("module.") for key in model.state_dict())


def refusals():
    rank = dist.get_rank()
    for kind, text, make in [
        (
            RuntimeError,
            "doesn't have any parameter that requires a gradient",
            lambda: DDP(nn.ReLU()),
        ),
        (
            ValueError,
            "only work with single-device/multiple-device GPU modules",
            lambda: DDP(nn.Linear(1, 1), device_ids=[0]),
        ),
        (
            TypeError,
            "Communication hook must be callable.",
            lambda: DDP(nn.Linear(1, 1)).register_comm_hook(None, 3),
        ),
    ]:
        try:
            make()
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)
    if "torch" not in sys.argv:
        try:
            DDP(nn.Linear(2, 2 + rank))
        except RuntimeError as error:
            assert "appears not to match sizes of the same param in process 0" in str(error), error
        else:
            raise AssertionError("other shapes")


NORM = "torch" not in sys.argv  # PyTorch's needs a GPU


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for part in (
        modes, kept, compressed, unused, uneven, two_things_without_data, graphs, averaged,
        buffers_and_sampler, refusals,
    ):  # fmt: skip
        part()
    if dist.get_rank() == 0:
        print("all well")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    os._exit(0) if "torch" in sys.argv else None
