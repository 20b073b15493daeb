"""The examples of docstrings that join a process group, in a process of their own: whoever has
joined one keeps MPI and a thread that watches the other ranks.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import doctest, importlib, inspect, pkgutil
import pellucid.distributed, pellucid.nn.parallel, pellucid.sharded

runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
parser = doctest.DocTestParser()
seen = set()
for package in (pellucid.distributed, pellucid.nn.parallel, pellucid.sharded):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            text = inspect.getdoc(value) if callable(value) else None
            if text and "dist.init_process_group(store=" in text and text not in seen:
                seen.add(text)
                runner.run(parser.get_doctest(text, {}, f"{found.name}.{name}", found.name, 0))
print(len(seen), runner.summarize(verbose=False).failed)
"""


def test_examples_with_a_process_group():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    examples, failed = map(int, done.stdout.splitlines()[-1].split())
    assert examples > 30 and failed == 0, done.stdout
