"""Errors of PyTorch's database of operators: how many have the same class and text; a count that
must not fall.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "overloads.json").read_text())["error texts"]


def test_the_count_does_not_fall(tmp_path):
    """In a process of its own: what other tests have loaded (sparse and quantised tensors) changes
    some words.
    """
    differing = tmp_path / "differing.json"
    command = [sys.executable, str(HERE / "error_texts.py"), "--json", str(differing)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=1200,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = re.search(r"(\d+) of (\d+) errors are equal", done.stderr)
    assert found is not None, done.stderr[-4000:]
    equal, calls = map(int, found.groups())
    assert calls >= FLOOR["calls"]
    shown = "\n".join(
        f"{name}\n  {theirs}\n  {ours}" for name, theirs, ours in json.loads(differing.read_text())
    )[:20000]
    assert equal >= FLOOR["equal"], f"{equal} of {calls}\n{shown}"
