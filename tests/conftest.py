"""What all tests share."""

import atexit
import contextlib
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import pellucid
from pellucid.core import interpret

with contextlib.suppress(ImportError):  # the environments of the tours have no hypothesis
    from hypothesis import HealthCheck, settings

    # How long a busy machine takes to draw an example says nothing about the code.
    settings.register_profile(
        "pellucid", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("pellucid")


if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
    # Tests start hundreds of processes. Where none of them may write bytecode beside the source,
    # each would compile the library again; so they share a folder that is gone afterwards.
    _bytecode = tempfile.mkdtemp(prefix="pellucid-bytecode-")
    atexit.register(shutil.rmtree, _bytecode, ignore_errors=True)
    os.environ["PYTHONPYCACHEPREFIX"] = _bytecode
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="session", autouse=True)
def same_package_in_child_processes():
    """Processes that tests start import the package under test, whatever folder they start in."""
    root = str(Path(pellucid.__file__).resolve().parents[1])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([root, before] if before else [root])
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(autouse=True)
def torch_stays_what_it_was():
    """`as_torch()` changes names and messages of the whole process: who calls it starts a process
    of its own, or later tests fail.
    """
    before = sys.modules.get("torch")
    yield
    assert sys.modules.get("torch") is not pellucid or before is pellucid, (
        "this test left Pellucid in PyTorch's place"
    )


@pytest.fixture(autouse=True)
def nobody_is_left_on_the_stack():
    """Tensors of a type that handles operators keep their interpreter on the thread's stack until
    they are collected: not into the next test.
    """
    yield
    if interpret.thread.stack.all:
        gc.collect()
