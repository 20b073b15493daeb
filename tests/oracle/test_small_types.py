"""Calls of every overload with floats of eight bits: counts that must not fall. `small_types.py`
says how they are made and shows differences.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "small_types.json").read_text())


@pytest.mark.parametrize("kind", FLOOR)
def test_calls_are_equal(kind, tmp_path):
    """In a process of its own: PyTorch gives some warnings once."""
    written = tmp_path / "calls.json"
    command = [sys.executable, str(HERE / "small_types.py"), "--types", kind]
    done = subprocess.run(
        [*command, "--json", str(written)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    calls = json.loads(written.read_text())
    assert len(calls) >= FLOOR[kind]["calls"]
    assert sum(not difference for *_, difference, _, _ in calls) >= FLOOR[kind]["equal"]
