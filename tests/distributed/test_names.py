"""torch.distributed before there is a group: what scripts ask first, what is refused, what is not
loaded.
"""

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
