"""fully_shard against one process that trains with the whole batch: losses, gradients, parameters;
on every rank.
"""

import os
import sys

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed._composable.replicate import replicate
from pellucid.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.fsdp import (
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from pellucid.distributed.fsdp.wrap import ModuleWrapPolicy
from pellucid.distributed.tensor import DTensor, Replicate, Shard
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from pellucid.nn import functional as F

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
thorough = "," in os.environ.get("PELLUCID_TEST_RANKS", "")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width + 1),
            nn.Linear(3 * width + 1, width),
        )

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    """Odd sizes, a tied weight, a parameter of one element and one that is frozen."""

    def __init__(self, width=5):
        super().__init__()
        self.emb, self.head = nn.Embedding(13, width), nn.Linear(width, 13, bias=False)
        self.layers = nn.ModuleList([Block(width) for _ in range(3)])
        self.head.weight = self.emb.weight
        self.scale = nn.Parameter(torch.ones(1))
        self.frozen = nn.Parameter(torch.rand(width), requires_grad=False)
        self.register_buffer("shift", torch.zeros(width))

    def forward(self, x):
        h = self.emb(x) * self.frozen + self.shift
        for layer in self.layers:
            h = layer(h)
        return self.head(h) * self.scale

    def again(self, x):
        return self(x)


def built():
    torch.manual_seed(0)
    return Model()


def batch(step):
    draw = torch.Generator().manual_seed(step)
    return torch.randint(0, 13, (2 * size, 6), generator=draw), torch.randint(
        0, 13, (2 * size, 6), generator=draw
    )


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def close(a, b, *about, limit=1e-6):
    worst = (a - b).abs().max().item() if a.numel() else 0
    assert worst < limit, (worst, about)


def train(
    name,
    steps=4 if thorough else 2,
    optimizer=lambda p: torch.optim.AdamW(p, lr=1e-2),
    mesh=None,
    accumulate=1,
    checkpointed=False,
    **options,
):
    whole, model = built(), built()
    mesh = mesh or init_device_mesh("cpu", (size,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, **options)
    assert (
        fully_shard(
            model, mesh=mesh, **{k: v for k, v in options.items() if k != "reshard_after_forward"}
        )
        is model
    )
    assert (
        isinstance(model, FSDPModule)
        and isinstance(model, Model)
        and type(model).__name__ == "FSDPModel"
    )
    assert all(isinstance(p, DTensor) and isinstance(p, nn.Parameter) for p in model.parameters())
    first, second = optimizer(whole.parameters()), optimizer(model.parameters())
    mine = slice(2 * rank, 2 * rank + 2)
    for step in range(steps):
        for k in range(accumulate):
            x, y = batch(step * accumulate + k)
            expected = loss_of(whole, x, y)
            expected.backward()
            model.set_requires_gradient_sync(k == accumulate - 1)
            loss = loss_of(model, x[mine], y[mine])
            loss.backward()
            dist.all_reduce(loss := loss.detach(), dist.ReduceOp.AVG)
            close(loss, expected, name, step)
        for (key, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
            assert (a.grad is None) == (b.grad is None), key
            if a.grad is not None:
                assert b.grad.placements == b.placements
                close(a.grad, b.grad.full_tensor(), name, step, key)
        close(
            nn.utils.clip_grad_norm_(whole.parameters(), 0.5),
            nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor(),
            name,
            limit=1e-5,
        )
        for each in (first, second):
            each.step()
            each.zero_grad()
    with torch.no_grad():
        x, y = batch(99)
        close(loss_of(whole, x, y), loss_of(model, x, y), name, "evaluated")
    state = model.state_dict()
    assert state.keys() == whole.state_dict().keys()
    for key, a in whole.state_dict().items():
        b = state[key]
        close(a, b.full_tensor() if isinstance(b, DTensor) else b, name, key, limit=3e-5)
    return model, second


def the_options():
    model, optimizer = train("plain")
    held = optimizer.state[model.layers[0].up.weight]
    assert (
        isinstance(held["exp_avg"], DTensor)
        and held["exp_avg"].placements == (Shard(0),)
        and held["step"].item() == (4 if thorough else 2)
    )
    assert model.scale.to_local().numel() == (rank == 0) and model.emb.weight is model.head.weight
    train("kept after forward", reshard_after_forward=False, steps=2 if thorough else 1)
    train("accumulated", accumulate=2, steps=2)
    if thorough:
        train(
            "momentum", optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)
        )
    train(
        "other dimension", shard_placement_fn=lambda p: Shard(1) if p.ndim == 2 else None, steps=2
    )
    if size == 4:
        model, _ = train(
            "replicas", mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
        )
        assert model.emb.weight.placements == (Replicate(), Shard(0))


def the_memory():
    """Whole parameters are there while a module computes, and not after."""
    model = built()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    seen = []
    layer = model.layers[1]
    layer.up.register_forward_hook(
        lambda m, i, o: seen.append(
            (type(m.weight), tuple(m.weight.shape), isinstance(m.weight, nn.Parameter))
        )
    )
    out = model(batch(0)[0])
    assert (
        seen == [(torch.Tensor, (16, 5), True)]
        and isinstance(layer.up.weight, DTensor)
        and not isinstance(model.scale, DTensor)
    )
    assert not layer._get_fsdp_state().group.block.bytes.any()
    out.sum().backward()
    assert isinstance(model.scale, DTensor) and model.scale.grad is not None
    model.unshard()
    assert not isinstance(model.emb.weight, DTensor)
    model.reshard()
    assert isinstance(model.emb.weight, DTensor)
    handle = layer.unshard(async_op=True)
    handle.wait()
    layer.reshard()
    register_fsdp_forward_method(model, "again")
    assert model.again(batch(1)[0]).shape == (2 * size, 6, 13)

    class Leaks(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x):
            self.kept = self.inner(x).sum()
            return x.detach()

    leaks = Leaks()
    fully_shard(leaks.inner)
    fully_shard(leaks, reshard_after_forward=True)
    leaks(torch.ones(2, 3))
    leaks.kept.backward()
    assert leaks.inner.weight.grad is not None
    try:
        fully_shard(nn.ModuleList())
    except ValueError as error:
        assert "does not support containers" in str(error)
    else:
        raise AssertionError("a list was taken")


def the_precision():
    """bfloat16 inside, float32 parameters and averages: what one process gets with a model of
    bfloat16.
    """
    torch.manual_seed(0)
    model, whole = (nn.Sequential(Block(5), Block(5)) for _ in range(2))
    whole.load_state_dict(model.state_dict())
    whole.to(torch.bfloat16)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model:
        fully_shard(layer, mp_policy=policy)
    fully_shard(
        model,
        mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32),
    )
    seen = []
    model[0].up.register_forward_hook(
        lambda m, i, o: seen.append((m.weight.dtype, i[0].dtype, o.dtype))
    )
    x = torch.randn(3, 5)
    out = model(x)
    assert out.dtype == torch.float32 and seen == [(torch.bfloat16,) * 3]
    expected = whole(x.to(torch.bfloat16)).float()
    assert torch.equal(out, expected)
    (out**2).mean().backward()
    (expected**2).mean().backward()
    for (key, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
        assert b.dtype == b.grad.dtype == torch.float32
        close(a.grad.float(), b.grad.full_tensor(), key)


def a_state_for_the_meta_device():
    """Parameters without data take the shards of a whole state."""
    from pellucid.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

    whole = nn.Linear(4, 6)
    with torch.device("meta"):
        layer = nn.Linear(4, 6)
    fully_shard(layer)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(layer, whole.state_dict() if dist.get_rank() == 0 else {}, options=options)
    assert not layer.weight.is_meta
    assert layer(torch.ones(2, 4)).shape == (2, 6)


def the_meta_device():
    """Parameters that are made after they are cut have the values that one process draws."""
    torch.manual_seed(3)
    expected = nn.Linear(7, 5)
    with torch.device("meta"):
        layer = nn.Linear(7, 5)
    fully_shard(layer)
    try:
        layer(torch.ones(1, 7))
    except RuntimeError as error:
        assert "materialized from meta device" in str(error)
    layer.to_empty(device="cpu")
    torch.manual_seed(3)
    layer.reset_parameters()
    assert torch.equal(layer.weight.full_tensor(), expected.weight) and torch.equal(
        layer.bias.full_tensor(), expected.bias
    )
    close(layer(torch.ones(2, 7)), expected(torch.ones(2, 7)), "meta")


def both():
    """Tensor parallel inside, cut over the data-parallel ranks."""
    ways = 2 if size == 4 else 1
    mesh = init_device_mesh("cpu", (size // ways, ways), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model, whole = (nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6)) for _ in range(2))
    whole.load_state_dict(model.state_dict())
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    assert all(p.device_mesh == mesh for p in model.parameters())
    steps = (
        torch.optim.Adam(whole.parameters(), lr=1e-2),
        torch.optim.Adam(model.parameters(), lr=1e-2),
    )
    group = rank // ways
    for step in range(3):
        x = torch.randn(2 * size, 6, generator=torch.Generator().manual_seed(step))
        count = 2 * ways
        (whole(x) ** 2).mean().backward()
        (model(x[count * group : count * group + count]) ** 2).mean().backward()
        for (key, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
            close(a.grad, b.grad.full_tensor(), "both", step, key)
        a, b = (nn.utils.clip_grad_norm_(m.parameters(), 0.1) for m in (whole, model))
        close(a, b.full_tensor(), "norm")
        for each in steps:
            each.step()
            each.zero_grad()
    for (key, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
        close(a, b.full_tensor(), "both", key, limit=1e-5)


def around():
    """Modules in a wrapper that recomputes them, cut outside of it; `replicate`."""
    x, y = batch(0)
    mine = slice(2 * rank, 2 * rank + 2)
    whole = built()
    loss_of(whole, x, y).backward()
    for kind in CheckpointImpl:
        model = built()
        apply_activation_checkpointing(
            model,
            lambda layer, kind=kind: checkpoint_wrapper(layer, kind),
            auto_wrap_policy=ModuleWrapPolicy({type(model.layers[0])}),
        )
        assert model.state_dict().keys() == whole.state_dict().keys()
        model.load_state_dict(whole.state_dict())
        for layer in model.layers:
            assert isinstance(layer, CheckpointWrapper)
            fully_shard(layer)
        fully_shard(model)
        for _ in range(2):
            model.zero_grad()
            loss_of(model, x[mine], y[mine]).backward()
            for (key, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
                if a.grad is not None:
                    close(a.grad, b.grad.full_tensor(), kind, key)
    model = built()
    assert replicate(model) is model and type(model).__name__ == "DDPModel"
    for synced in (False, True):
        model.zero_grad()
        model.set_requires_gradient_sync(synced)
        loss_of(model, x[mine], y[mine]).backward()
        gap = max(
            (a.grad - b.grad).abs().max()
            for a, b in zip(whole.parameters(), model.parameters(), strict=True)
            if a.grad is not None
        )
        assert (gap < 1e-6) == (synced or size == 1), (gap, synced)


the_options()
around()
the_memory()
the_precision()
the_meta_device()
a_state_for_the_meta_device()
both()
print("all well")
sys.stdout.flush()
dist.destroy_process_group()
