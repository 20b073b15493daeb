"""Steps with collectives, compiled: the numbers of eager steps, the same bits on all ranks, and
nothing left to Python that need not be.
"""

import sys
import warnings

import pellucid

torch = pellucid.interop.as_torch()
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: E402

STEPS = 40


def net():
    torch.manual_seed(0)
    # Smooth: at the kink of a ReLU, the last bit of a value decides about a whole gradient.
    return nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.Tanh(), nn.Linear(32, 4))


def batch(k, part=None):
    """The whole batch of a step, or a rank's part."""
    generator = torch.Generator().manual_seed(k)
    x = torch.randn(16 * dist.get_world_size(), 20, generator=generator)
    y = (x[:, :4] * 2).argmax(1)
    return (
        (x, y)
        if part is None
        else (x.chunk(dist.get_world_size())[part], y.chunk(dist.get_world_size())[part])
    )


def train(compiled, accumulate=1, make=net, **options):
    """Losses of this rank, the parameters, and the compiled function."""
    model = DDP(make(), **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    called = torch.compile(model) if compiled == "model" else model

    def step(x, y):
        optimizer.zero_grad()
        for _ in range(accumulate - 1):
            with model.no_sync():
                F.cross_entropy(called(x * 0.5), y).backward()
        loss = F.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        return mean

    function = torch.compile(step) if compiled == "step" else step
    losses = [function(*batch(k, dist.get_rank())).item() for k in range(STEPS)]
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    others = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(others, flat)
    assert all(torch.equal(flat, other) for other in others), (compiled, options)
    return losses, flat, function if compiled == "step" else called


def modes():
    for options in (
        {},
        {"bucket_cap_mb": 0.0005},
        {"gradient_as_bucket_view": True},
        {"accumulate": 2},
    ):
        losses, flat, _ = train(None, **options)
        for kind in ("step", "model"):
            found, ours, function = train(kind, **options)
            worst = max(abs(a - b) / a for a, b in zip(losses, found))
            assert worst < 2e-6 and torch.allclose(flat, ours, atol=1e-6), (kind, options, worst)
            text = str(torch.compiler.explain(function, measure=False, passes=True))
            assert "1 traced version" in text or kind == "model", text[:600]
            if kind == "step" and options == {"bucket_cap_mb": 0.0005}:
                text = text.partition("after fuse_loops")[2].partition("after reorder_items")[0]
                words = ("all_reduce_", "matmul(", "_update_group")
                lines = [
                    line.strip().split("(")[0]
                    for line in text.splitlines()
                    if any(word in line for word in words)
                ]
                starts = [k for k, line in enumerate(lines) if "all_reduce_start" in line]
                last = max(k for k, line in enumerate(lines) if "matmul" in line)
                # under way while backward goes on
                assert len(starts) > 1 and starts[0] < last, lines
                waits = [
                    line for line in lines if "all_reduce_wait" in line or "_update_group" in line
                ]
                assert ["wait" in line for line in waits] == [True, False] * len(starts), (
                    lines
                )  # a bucket's update, then the next wait


def taking_turns():
    """Ranks that run some steps eagerly, each others, get the numbers of eager steps."""

    def wide():
        return nn.Sequential(nn.Linear(20, 1000), nn.Tanh(), nn.Linear(1000, 4))

    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = DDP(wide())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        function = torch.compile(step) if compiled else step
        for k in range(9):
            (step if (k + dist.get_rank()) % 3 == 0 else function)(*batch(k, dist.get_rank()))
        results.append(torch.cat([p.detach().reshape(-1) for p in model.parameters()]))
    assert torch.allclose(*results, atol=1e-6)


def left_to_python():
    """What cannot be compiled around collectives runs eagerly, with eager results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options in ({"find_unused_parameters": True}, {"static_graph": True}):
            losses, flat, _ = train(None, **options)
            found, ours, _ = train("step", **options)
            assert max(abs(a - b) / a for a, b in zip(losses, found)) < 2e-6 and torch.allclose(
                flat, ours, atol=1e-6
            ), options
        torch.manual_seed(1)
        results = []
        for compiled in (False, True):
            torch.manual_seed(1)
            model = DDP(nn.Linear(20, 4))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            def step(x, y):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                if nn.utils.clip_grad_norm_(model.parameters(), 1.0) > 0.2:
                    optimizer.step()
                return loss.detach()

            function = torch.compile(step) if compiled else step
            results.append([function(*batch(k, dist.get_rank())).item() for k in range(10)])
        assert max(abs(a - b) for a, b in zip(*results)) < 1e-6, results


def collectives():
    """Collectives of the step's own."""
    rank, size = dist.get_rank(), dist.get_world_size()

    @torch.compile(fullgraph=True)
    def metric(x):
        total = (x * 2).sum()
        dist.all_reduce(total)
        dist.all_reduce(x, op=dist.ReduceOp.MAX)
        whole, part = torch.empty(size * 3), torch.zeros(3)
        dist.all_gather_into_tensor(whole, x[:3].contiguous())
        dist.reduce_scatter_tensor(part, whole)
        dist.broadcast(part, 0)
        dist.barrier()
        return total / size, whole, part

    for k in range(3):
        x = torch.arange(5.0) + rank + k
        total, whole, part = metric(x)
        expected = sum(((torch.arange(5.0) + r + k) * 2).sum() for r in range(size)) / size
        assert abs(total - expected) < 1e-5 and torch.equal(x, torch.arange(5.0) + size - 1 + k)
        assert torch.equal(whole, x[:3].repeat(size)) and torch.equal(part, whole[:3] * size)


def differs():
    """A rank whose compiled step averages other gradients is told apart by name."""
    rank = dist.get_rank()
    model = DDP(nn.Linear(4, 2))

    def step(x):
        loss = model(x).pow(2).mean()
        if rank == 1:
            dist.all_reduce(loss)
        loss.backward()
        return loss.detach()

    torch.compile(step)(torch.ones(3, 4))


warnings.simplefilter("error")
dist.init_process_group("gloo")
if "differs" in sys.argv:
    differs()
else:
    modes()
    taking_turns()
    collectives()
    left_to_python()
    dist.barrier()
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()
