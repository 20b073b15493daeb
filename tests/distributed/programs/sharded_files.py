"""Distributed checkpoints, and optimizers whose state is cut: written and read by the same ranks,
and by others.

sharded_files.py write FOLDER | read FOLDER
"""

import pickle
import sys
from pathlib import Path

import pellucid as torch
import pellucid.distributed as dist
import pellucid.distributed.checkpoint as dcp
from pellucid import nn
from pellucid.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.fsdp import fully_shard
from pellucid.distributed.optim import ZeroRedundancyOptimizer
from pellucid.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, zeros

what, folder = sys.argv[1], Path(sys.argv[2])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))


def whole(value):
    return value.full_tensor() if isinstance(value, DTensor) else value


def plain_state():
    return {
        "rows": torch.arange(15.0).reshape(5, 3),
        "columns": torch.arange(15).reshape(5, 3),
        "one": torch.ones(1),
        "half": torch.full((3,), 1.5, dtype=torch.bfloat16),
        "none": torch.zeros(0, 2),
        "number": torch.tensor(3.0),
    }


def layouts():
    return {
        "rows": Shard(0),
        "columns": Shard(1),
        "one": Shard(0),
        "half": Replicate(),
        "none": Shard(0),
        "number": Replicate(),
    }


def tensors():
    state = {k: distribute_tensor(v, mesh, [layouts()[k]]) for k, v in plain_state().items()}
    path = folder / "tensors"
    if what == "write":
        dcp.save(
            {
                "model": state,
                "step": 7,
                "groups": [{"lr": 0.1, "betas": (0.9, 0.99)}, {"w": torch.ones(2)}],
            },
            checkpoint_id=path,
        )
    turned = {"rows": Shard(1), "columns": Shard(0)}
    empty = {
        k: zeros(v.shape, dtype=v.dtype, device_mesh=mesh, placements=[turned.get(k, layouts()[k])])
        for k, v in plain_state().items()
    }
    made = {"model": empty, "step": 0, "groups": [{"lr": 0, "betas": None}, {"w": torch.zeros(2)}]}
    dcp.load(made, checkpoint_id=path)
    assert (
        made["step"] == 7
        and made["groups"][0] == {"lr": 0.1, "betas": (0.9, 0.99)}
        and torch.equal(made["groups"][1]["w"], torch.ones(2))
    )
    for key, value in plain_state().items():
        assert made["model"][key] is empty[key] and torch.equal(whole(empty[key]), value), key
    plain = {"model": {k: torch.zeros_like(v) for k, v in plain_state().items()}}
    dcp.load(plain, checkpoint_id=path)
    assert all(torch.equal(plain["model"][k], v) for k, v in plain_state().items())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 5))
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x):
        return self.layers(x)


def step(model, optimizer, seed):
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(seed))
    (model(x) ** 2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def built(cut=True):
    torch.manual_seed(0)
    model = Model()
    if cut:
        fully_shard(model.layers[0])
        fully_shard(model)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def models():
    reference, optimizer = built(cut=False)
    for seed in range(3):
        step(reference, optimizer, seed)
    path = folder / "model"
    if what == "write":
        model, own = built()
        for seed in range(2):
            step(model, own, seed)
        state = dict(zip(("model", "optimizer"), get_state_dict(model, own), strict=True))
        assert set(state["optimizer"]["state"]) == {
            f"layers.{k}.{n}" for k in (0, 2) for n in ("weight", "bias")
        }
        dcp.save(state, checkpoint_id=path)
    model, own = built()
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    state = dict(zip(("model", "optimizer"), get_state_dict(model, own), strict=True))
    dcp.load(state, checkpoint_id=path)
    set_state_dict(model, own, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    assert next(iter(own.state.values()))["step"].item() == 2
    step(model, own, 2)
    for (key, a), b in zip(reference.named_parameters(), model.parameters(), strict=True):
        assert (a - whole(b)).abs().max() < 1e-6, key
    full = get_model_state_dict(
        model, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
    )
    assert (len(full) == 5) == (rank == 0)
    flat = get_optimizer_state_dict(
        model,
        own,
        options=StateDictOptions(full_state_dict=True, flatten_optimizer_state_dict=True),
    )
    assert (
        flat["state.layers.0.weight.exp_avg"].shape == (7, 3)
        and flat["param_groups.layers.2.bias.lr"] == 1e-2
    )
    other, second = built()
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(other, full, options=options)
    set_optimizer_state_dict(other, second, flat if rank == 0 else {}, options=options)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(whole(a), whole(b)) and torch.equal(
            whole(own.state[a]["exp_avg"]), whole(second.state[b]["exp_avg"])
        )
    wrapped = nn.parallel.DistributedDataParallel(built(cut=False)[0])
    assert set(get_model_state_dict(wrapped)) == set(full) or rank
    future = dcp.async_save({"model": get_model_state_dict(model)}, checkpoint_id=folder / "later")
    future.result()
    dist.barrier()
    again = {"model": {k: torch.zeros_like(v) for k, v in plain_of(reference).items()}}
    dcp.load(again, checkpoint_id=folder / "later")
    assert all((again["model"][k] - v).abs().max() < 1e-6 for k, v in plain_of(reference).items())


def zero():
    """ZeroRedundancyOptimizer beside DistributedDataParallel: bit for bit what each rank alone
    computes, and its state is one process's.
    """
    for options in ({}, {"parameters_as_bucket_view": True}):
        torch.manual_seed(0)
        first, second = Model(), Model()
        second.load_state_dict(first.state_dict())
        models = [nn.parallel.DistributedDataParallel(m) for m in (first, second)]
        groups = [
            [{"params": m.layers[0].parameters(), "lr": 0.02}, {"params": m.layers[2].parameters()}]
            for m in (first, second)
        ]
        plain = torch.optim.AdamW(groups[0], lr=1e-2, weight_decay=0.1)
        cut = ZeroRedundancyOptimizer(
            groups[1], torch.optim.AdamW, lr=1e-2, weight_decay=0.1, **options
        )
        schedules = [torch.optim.lr_scheduler.StepLR(o, 1, 0.5) for o in (plain, cut)]
        for seed in range(4):
            x = torch.randn(4 * size, 3, generator=torch.Generator().manual_seed(seed))[
                4 * rank : 4 * rank + 4
            ]
            for model, optimizer, schedule in zip(models, (plain, cut), schedules, strict=True):
                (model(x) ** 2).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
        for a, b in zip(first.parameters(), second.parameters(), strict=True):
            assert torch.equal(a, b)
        assert len(cut.optim.state) < 4 or size == 1
        cut.consolidate_state_dict(to=0)
        if rank:
            try:
                cut.state_dict()
            except RuntimeError as error:
                assert "Optimizer state has not been consolidated on this rank" in str(error)
            else:
                raise AssertionError("a state that is not there was given")
        held = [cut.state_dict() if rank == 0 else None]
        dist.broadcast_object_list(held, 0)
        expected = plain.state_dict()
        assert held[0]["param_groups"][0]["lr"] == expected["param_groups"][0]["lr"] and list(
            held[0]["state"]
        ) == [0, 1, 2, 3]
        for k, state in expected["state"].items():
            assert all(torch.equal(held[0]["state"][k][key], value) for key, value in state.items())
        again = ZeroRedundancyOptimizer(second.parameters(), torch.optim.AdamW, lr=1.0)
        again.add_param_group({"params": [torch.nn.Parameter(torch.ones(3))], "lr": 0.5})
        again.consolidate_state_dict(to=0)
        cut.load_state_dict(held[0])
        for model, optimizer in zip(models, (plain, cut), strict=True):
            (model(x) ** 2).mean().backward()
            optimizer.step()
        assert all(
            torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)
        )


def plain_of(model):
    return {k: v.detach() for k, v in model.state_dict().items()}


def faults():
    def fails(text, state, path):
        try:
            dcp.load(state, checkpoint_id=path)
        except dcp.CheckpointException as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"not refused: {text}")

    path = folder / "tensors"
    fails(
        "Missing key in checkpoint state_dict: model.absent.",
        {"model": {"absent": torch.zeros(1)}},
        path,
    )
    fails(
        "Size mismatch between saved torch.Size([5, 3]) and current: torch.Size([5, 4]) for model.rows",
        {"model": {"rows": torch.zeros(5, 4)}},
        path,
    )
    fails(".metadata", {"a": 1}, folder / "nothing")
    dcp.load(
        {"model": {"absent": torch.zeros(1)}},
        checkpoint_id=path,
        planner=dcp.DefaultLoadPlanner(allow_partial_load=True),
    )
    if rank == 0:
        (folder / "hostile").mkdir(exist_ok=True)
        (folder / "hostile" / ".metadata").write_bytes(pickle.dumps(Hostile()))
    dist.barrier()
    fails("Unsupported global", {"a": 1}, folder / "hostile")
    assert not (folder / "owned").exists()


class Doubled(dcp.DefaultSavePlanner):
    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        kept = {f"new_{k}": v for k, v in state_dict.items() if k != "left out"}
        super().set_up_planner(kept, storage_meta, is_coordinator)


class Transforming(dcp.DefaultSavePlanner):
    def transform_object(self, write_item, object):
        return object


def planners():
    """A planner chooses what is saved; one that asks for more is refused."""
    path = folder / "planned"
    state = {"a": torch.ones(2), "left out": 3}
    if what == "write":
        dcp.save(state, checkpoint_id=path, planner=Doubled())
        assert set(dcp.FileSystemReader(path).read_metadata().state_dict_metadata) == {"new_a"}
        for wrong, kind, text in (
            (
                {"planner": Transforming()},
                NotImplementedError,
                "a planner's transform_object is not",
            ),
            ({"planner": object()}, NotImplementedError, "no subclass of DefaultSavePlanner"),
            ({"checkpoint_id": None}, RuntimeError, "`checkpoint_id` must be specified"),
        ):
            try:
                dcp.save(state, **({"checkpoint_id": folder / "no"} | wrong))
            except kind as error:
                assert text in str(error)
            else:
                raise AssertionError(text)
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    assert list(get_model_state_dict(model, submodules={model[1]})) == ["1.weight", "1.bias"]


class Hostile:
    def __reduce__(self):
        return Path.touch, (folder / "owned",)


tensors()
models()
zero()
planners()
faults()
print("all well")
dist.destroy_process_group()
