"""The rules of several ranks on PyTorch with gloo find the same lines as on Pellucid."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

HERE = Path(__file__).parent
RANKS = HERE.parent / "check" / "ranks"
_spec = importlib.util.spec_from_file_location("test_ranks_of_check", RANKS / "test_ranks.py")
ranks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(ranks)

# In these gloo mixes up the calls, or a rank waits for one that has gone: not in the processes of
# the others.
APART = {
    "collectives-differ/buggy",
    "rank-missing/buggy",
    "collective-under-rank-condition/buggy",
    "collective-under-rank-condition/buggy_before_backward",
    "unequal-batches/buggy",
    *ranks.ALONE,
}
# PyTorch's SyncBatchNorm needs GPUs
CORRECT = [path for path in ranks.CORRECT if path.stem != "gan_sync_batchnorm"]
SCRIPTS = [path for path in ranks.SCRIPTS if ranks.case(path) not in APART] + CORRECT


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    stores = [
        torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        for _ in SCRIPTS
    ]
    ranks.run_batch("torch", SCRIPTS, folder, stores=[store.port for store in stores])
    return {path: folder / str(number) for number, path in enumerate(SCRIPTS)}


@pytest.mark.parametrize("path", SCRIPTS, ids=ranks.case)
def test_script(path, batch):
    result = ranks.compared(path, batch[path], "torch")
    assert ranks.found_in(result) == ([] if path in CORRECT else ranks.expected(path)), str(result)
    assert result.notes == [] and result.ranks == 2
    if not path.stem.startswith("buggy"):
        assert result.failure is None


@pytest.mark.parametrize(
    "name",
    [
        "collective-under-rank-condition/buggy",
        # what rank 0 sends meets the gradients of rank 1, and gloo ends rank 0
        "collective-under-rank-condition/buggy_before_backward",
        "rank-failed/buggy",
    ],
)
def test_the_command_on_pytorch(name):
    """Calls that do not fit make PyTorch's ranks hang or fail; the check ends them and finds the
    line.
    """
    script = RANKS / "scripts" / f"{name}.py"
    environment = {**os.environ, "PYTHONPATH": str(ranks.ROOT), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "pellucid",
        "check",
        "--engine",
        "torch",
        "--nproc",
        "2",
        "--stall",
        "6",
        "--quiet",
        "--format",
        "json",
    ]
    done = subprocess.run(
        [*command, str(script)], capture_output=True, text=True, timeout=180, env=environment
    )
    said = json.loads(done.stdout)
    assert done.returncode == 1 and [
        (f["name"], f["line"]) for f in said["findings"]
    ] == ranks.expected(script), (
        said,
        done.stderr,
    )
