"""torch.distributed before there is a group: what scripts ask first, what is refused, what is not
loaded.
"""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.run import _streams
from pellucid.nn.parallel import DistributedDataParallel, data_parallel
from pellucid.nn.parallel.data_parallel import DataParallel

from .harness import ROOT, free_port, needs_mpi


def test_what_scripts_ask_first():
    assert (
        not dist.is_initialized()
        and not dist.is_torchelastic_launched()
        and not dist.is_nccl_available()
    )
    assert dist.is_available() == (importlib.util.find_spec("mpi4py") is not None)
    assert (
        torch.distributed is dist
        and dist.ReduceOp.SUM is not dist.ReduceOp.MAX
        and dist.Backend.NCCL == "nccl"
    )


def test_nothing_is_loaded_that_is_not_asked_for():
    code = (
        "import sys, pellucid; first = [m for m in sys.modules if 'pellucid.distributed' in m or 'mpi4py' in m]; "
        "import pellucid.distributed; second = [m for m in sys.modules if 'mpi4py' in m or 'pellucid.sharded' in m]; print(first, second)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[] []\n"
    )


@pytest.mark.parametrize("call", [
    dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(torch.ones(1)), lambda: dist.broadcast(torch.ones(1), 0),
    lambda: dist.new_group([0]), lambda: dist.all_gather_object([], 1),
])  # fmt: skip
def test_without_a_group(call):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        call()


def test_impossible_starts_are_refused(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for kind, text, arguments in [
        (
            RuntimeError,
            "Distributed package doesn't have NCCL built in",
            {"backend": "nccl", "rank": 0, "world_size": 1},
        ),
        (AssertionError, "Unknown backend type foo", {"backend": "foo"}),
        (NotImplementedError, "'fake'", {"backend": "fake"}),
        (ValueError, "environment variable RANK expected, but not set", {}),
        (
            ValueError,
            "environment variable MASTER_ADDR expected, but not set",
            {"rank": 0, "world_size": 1},
        ),
        (
            ValueError,
            "port number missing",
            {"init_method": "tcp://127.0.0.1", "rank": 0, "world_size": 1},
        ),
        (ValueError, "rank parameter missing", {"init_method": "tcp://127.0.0.1:1"}),
        (ValueError, "world size parameter missing", {"init_method": "file:///nowhere", "rank": 0}),
        (
            RuntimeError,
            "No rendezvous handler for ftp://",
            {"init_method": "ftp://x", "rank": 0, "world_size": 1},
        ),
        (
            ValueError,
            "rank 2 is not below the world size 2",
            {"init_method": "tcp://127.0.0.1:1", "rank": 2, "world_size": 2},
        ),
        (TypeError, "timeout argument to be of type datetime.timedelta", {"timeout": 3}),
    ]:
        with pytest.raises(kind, match=re.escape(text)):
            dist.init_process_group(**arguments)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedDataParallel(torch.nn.Linear(1, 1))


def test_data_parallel():
    layer = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)
    assert torch.equal(data_parallel(layer, x), layer(x)) and torch.equal(
        DataParallel(layer)(x), layer(x)
    )


def test_names_are_there_to_be_asked_for():
    from pellucid.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from pellucid.distributed.pipelining import PipelineStage
    from pellucid.distributed.tensor import DTensor, Replicate, distribute_tensor

    assert (
        not isinstance(torch.ones(1), DTensor)
        and ShardingStrategy.FULL_SHARD is dist.fsdp.api.ShardingStrategy.FULL_SHARD
    )
    assert Replicate() == Replicate() and distribute_tensor.__name__ == "distribute_tensor"
    with pytest.raises(NotImplementedError, match="PipelineStage is not supported: docs/dist"):
        PipelineStage(torch.nn.Linear(1, 1))
    # PyTorch's words: it needs an accelerator there, too.
    with pytest.raises(
        RuntimeError,
        match="FSDP needs a non-CPU accelerator device, but no accelerator device is detected",
    ) as caught:
        FullyShardedDataParallel(torch.nn.Linear(1, 1))
    assert "fully_shard" in caught.value.__notes__[0]


def test_settings_of_fully_sharded_data_parallel_without_such_modules():
    fsdp = dist.fsdp
    model, kind = torch.nn.Linear(1, 1), fsdp.StateDictType.FULL_STATE_DICT
    whole = fsdp.FullyShardedDataParallel
    assert whole.fsdp_modules(model) == [] and isinstance(model, whole) is False
    assert whole.get_state_dict_type(model) is None
    config = fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    assert repr(config) == "FullStateDictConfig(offload_to_cpu=True, rank0_only=True)"
    assert fsdp.api.FullStateDictConfig is fsdp.FullStateDictConfig
    assert fsdp.FullOptimStateDictConfig().offload_to_cpu
    with (
        pytest.warns(FutureWarning, match="are being deprecated"),
        whole.state_dict_type(model, kind, config),
    ):
        assert model.state_dict()["weight"].shape == (1, 1)
    with pytest.warns(FutureWarning):
        before = whole.set_state_dict_type(model, kind)
    assert before == fsdp.StateDictSettings(None, None, None)
    with whole.summon_full_params(model):
        pass
    for function, args in ((whole.optim_state_dict, ()), (whole.optim_state_dict_to_load, ({},))):
        with pytest.raises(AttributeError, match="optim_state_dict_config") as caught:
            function(model, torch.optim.SGD(model.parameters(), lr=0.1), *args)
        assert "_optimizer_state_dict" in caught.value.__notes__[0]


def test_spawn_is_a_function_and_a_module():
    """Accelerate's `notebook_launcher` imports from the module."""
    import importlib
    import sys

    mp = torch.multiprocessing
    module = importlib.import_module(f"{mp.__name__}.spawn")
    assert module.ProcessRaisedException is mp.ProcessRaisedException
    assert sys.modules[module.__name__] is module and mp.spawn is module.spawn


def test_inner_world():
    world = dist.distributed_c10d._world
    assert world.default_pg is None and world.pg_map == {}
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        group = dist.group.WORLD
        assert world.default_pg is group and world.pg_names == {group: group.group_name}
        assert world.pg_group_ranks[group] == {0: 0} and world.pg_map[group][0] == "gloo"
        assert "gloo" in world.pg_backend_config[group] and world.group_count >= 1
    finally:
        dist.destroy_process_group()


@needs_mpi
def test_a_script_that_imports_fsdp_alone_runs_on_the_alias():
    """`torch.distributed.fsdp` needs modules that PyTorch's interface does not show, and the rules
    of sharded tensors.
    """
    script = (
        "from torch.distributed.fsdp import fully_shard\nimport torch.distributed.checkpoint, torch.distributed.optim\n"
        "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\nmodel = torch.nn.Linear(3, 2)\nfully_shard(model)\n"
        "model(torch.ones(4, 3)).sum().backward()\nassert model.weight.grad.to_local().tolist() == [[4.0] * 3] * 2\n"
        "assert not hasattr(dist, 'groups')\ndist.destroy_process_group()\n"
    )
    environment = {
        **os.environ,
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", "run", "-c", script],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    assert done.returncode == 0, done.stderr


def test_launchers_write_what_ranks_print(tmp_path):
    """`--redirects` and `--tee` for single ranks, a rank that nobody sees, and the exception that
    `record` wrote down.
    """
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys\nfrom torch.distributed.elastic.multiprocessing.errors import record\n\n@record\ndef main():\n"
        "    print('out', os.environ['RANK'])\n    print('err', os.environ['RANK'], file=sys.stderr)\n"
        "    if os.environ['RANK'] == '1' and os.environ['TORCHELASTIC_RESTART_COUNT'] == '0':\n        raise ValueError('boom')\n\nmain()\n"
    )
    options = "--standalone --nproc_per_node 3 --max_restarts 1 --local_ranks_filter 0,1 -r 0:1,1:2 -t 1:1"
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pellucid",
            "torchrun",
            *options.split(),
            "--log_dir",
            "logs",
            script,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert set(ended.stdout.splitlines()) == {"[default1]:out 1"}
    assert "rank 1 ended with exitcode 1; all ranks start again" in ended.stderr
    assert "err 0" in ended.stderr and "err 1" not in ended.stderr and "err 2" not in ended.stderr
    (job,) = (tmp_path / "logs").iterdir()
    files = sorted(
        str(f.relative_to(job)) for f in job.rglob("*") if "attempt_1" in str(f) and f.is_file()
    )
    assert files == ["attempt_1/0/stdout.log", "attempt_1/1/stderr.log", "attempt_1/1/stdout.log"]
    said = json.loads((job / "attempt_0" / "1" / "error.json").read_text())["message"]
    assert (
        said["message"] == "ValueError: boom"
        and "raise ValueError" in said["extraInfo"]["py_callstack"]
    )


def test_streams_of_ranks():
    assert _streams("3", 2) == [3, 3] and _streams("0:1,1:2", 3) == [1, 2, 0]
    with pytest.raises(ValueError, match="0 to 3, or RANK:0 to RANK:3 for ranks below 2"):
        _streams("2:1", 2)


def test_a_rendezvous_gives_store_rank_and_size(monkeypatch, tmp_path):
    from pellucid.distributed.rendezvous import register_rendezvous_handler, rendezvous

    port = free_port()
    store, rank, size = next(rendezvous(f"tcp://127.0.0.1:{port}?rank=0&world_size=1"))
    store.set("key", "value")
    assert (rank, size, store.port, store.get("key")) == (0, 1, port, b"value")
    store, rank, size = next(rendezvous(f"file://{tmp_path}/store", 1, 2))
    assert (rank, size, type(store)) == (1, 2, dist.FileStore)
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        ValueError, match="environment variable RANK expected, but not set"
    ) as caught:
        next(rendezvous("env://"))
    assert "pellucid torchrun --nproc_per_node 2" in "".join(caught.value.__notes__)
    with pytest.raises(RuntimeError, match="`rank` must be an integer. 1.5"):
        rendezvous("env://", 1.5)
    with pytest.raises(RuntimeError, match="No rendezvous handler for ftp://"):
        rendezvous("ftp://here", 0, 1)
    asked = []

    def own(url, **options):
        asked.append((url, options))
        yield dist.HashStore(), 0, 1

    register_rendezvous_handler("own", own)
    assert next(rendezvous("own://here?rank=3", 0, 1, timeout=5))[1:] == (0, 1)
    assert asked == [("own://here?rank=0&world_size=1", {"timeout": 5})]
    with pytest.raises(RuntimeError, match="Rendezvous handler for own:// already registered"):
        register_rendezvous_handler("own", own)


@pytest.mark.parametrize("name", [
    "_tensor.device_mesh.init_device_mesh", "tensor.experimental.register_sharding", "checkpoint.storage.StorageReader",
    "elastic.rendezvous.RendezvousTimeoutError", "elastic.agent.server.WorkerSpec", "pipelining.schedules.Schedule1F1B",
    "_symmetric_memory.empty", "elastic.metrics.api.put_metric", "tensor.debug.CommDebugMode", "rpc.options.TensorPipeRpcBackendOptions",
    "elastic.timer.file_based_local_timer.FileTimerClient", "optim.optimizer.DistributedOptimizer", "nn.api.remote_module.RemoteModule", "launch.run", "algorithms.ddp_comm_hooks.ddp_zero_hook.hook_with_zero_step", "collective_utils.broadcast",
])  # fmt: skip
def test_modules_that_libraries_import(name):
    module, _, last = name.rpartition(".")
    assert callable(getattr(importlib.import_module(f"pellucid.distributed.{module}"), last))


def test_options_that_nothing_knows_are_refused():
    from pellucid.distributed import checkpoint as dcp

    for make in (dcp.DefaultSavePlanner, lambda **k: dcp.FileSystemWriter("x", **k)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'compress'"):
            make(compress=True)
    with pytest.raises(NotImplementedError, match="async_save in another process"):
        dcp.async_save(
            {}, async_checkpointer_type=dcp.state_dict_saver.AsyncCheckpointerType.PROCESS
        )


def test_states_of_an_optimizer_without_a_rate():
    from pellucid.distributed.checkpoint.state_dict import _init_optim_state

    class Plain(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"scale": 2.0})

        def step(self, closure=None):
            for p in self.param_groups[0]["params"]:
                self.state[p]["seen"] = p.grad.clone()

    p = torch.nn.Parameter(torch.tensor([1.0, float("nan")]))
    made = Plain([p])
    _init_optim_state(made)
    assert made.state[p]["seen"].tolist() == [0.0, 0.0] and p.grad is None


def test_collectives_are_methods_of_a_group():
    """What libraries call on a group itself: lists, options or what the options hold."""
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        group, one = dist.group.WORLD, torch.tensor([1.0, 2.0])
        options = dist.AllreduceOptions()
        options.reduceOp = dist.ReduceOp.MAX
        root = dist.BroadcastOptions()
        root.rootRank = 0
        begun = [
            group.allreduce([one], options), group.allreduce(one, dist.ReduceOp.SUM), group.allreduce_coalesced([one, one]),
            group.broadcast([one], root), group.broadcast(one, 0), group.reduce([one], dist.ReduceOptions()), group.reduce(one, 0), group.barrier(),
        ]  # fmt: skip
        assert all(work.wait() for work in begun) and one.tolist() == [1.0, 2.0]
        for number, call in enumerate([
            lambda out: group.allgather([[out]], [one]), lambda out: group.allgather([out], one), lambda out: group._allgather_base(out, one),
            lambda out: group.allgather_into_tensor_coalesced([out], [one]), lambda out: group.gather([[out]], [one], dist.GatherOptions()),
            lambda out: group.scatter([out], [[one]]), lambda out: group.reduce_scatter([out], [[one]]), lambda out: group._reduce_scatter_base(out, one),
            lambda out: group.reduce_scatter_tensor_coalesced([out], [one]), lambda out: group.alltoall([out], [one]),
            lambda out: group.alltoall_base(out, one, [], []),
        ]):  # fmt: skip
            out = torch.zeros(2)
            call(out).wait()
            assert out.tolist() == [1.0, 2.0], number
        group.monitored_barrier()
        with pytest.raises(ValueError, match="the same as the rank of the current process"):
            group.send([one], 0)
    finally:
        dist.destroy_process_group()


def test_a_breakpoint_stops_one_rank(monkeypatch):
    import pdb  # noqa: T100

    stopped = []
    monkeypatch.setattr(pdb.Pdb, "set_trace", lambda self, frame: stopped.append(frame.f_lineno))
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        for _ in range(3):
            dist.breakpoint(skip=2)
        dist.breakpoint()
        dist.breakpoint(rank=1)
        assert len(stopped) == 2 and stopped[0] < stopped[1]
    finally:
        dist.destroy_process_group()


def test_processes_that_call_a_function_are_checked():
    """`pellucid check` knows them by the modules of their targets."""
    from pellucid.check.ranks import launch
    from pellucid.distributed import launching

    spawn = importlib.import_module("pellucid.multiprocessing.spawn")
    assert {spawn._run.__module__, launching._work.__module__} <= set(launch._STARTERS)
