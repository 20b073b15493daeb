"""Calls of every overload that PyTorch's schemas list: counts that must not fall. `overloads.py`
says how they are made and shows differences.
"""

import json
import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "overloads.json").read_text())
PART = 8  # each 8th call is made: enough to notice what broke


def test_counts_do_not_fall(tmp_path):
    """In a process of its own: PyTorch gives some warnings once, and what other tests have loaded
    (sparse and quantised tensors) changes some words.
    """
    written = tmp_path / "report.json"
    command = [sys.executable, str(HERE / "overloads.py"), "--every", str(PART)]
    done = subprocess.run(
        [*command, "--json", str(written)],
        capture_output=True,
        text=True,
        timeout=1200,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads(written.read_text())
    assert report["calls"] >= FLOOR["calls"]
    shown = "\n".join(f"{kind}: {path} {form}" for path, _, form, _, kind, _, _ in report["found"])
    assert report["calls equal"] >= FLOOR["calls equal"], shown


def test_short_entries_change_nothing():
    """Each 48th call, before and after the functions have their short entries."""
    module = runpy.run_path(str(HERE / "overloads.py"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[list[tuple[str, str]]] = [[], []]
        for said in found:

            def each(call, kind, theirs, ours, said=said):
                if kind != "warnings":  # some are given once
                    said.append((repr(call), kind))

            module["run"](part=(1, 6 * PART), each=each)
            module["shorten_at_once"]()  # the next call of each function makes its entry
    assert found[0] == found[1]


@pytest.mark.parametrize("path", FLOOR["paths"])
def test_everything_is_equal(path):
    module = runpy.run_path(str(HERE / "overloads.py"))
    report = module["run"](path.replace(".", r"\."))
    assert report["calls"] and report["differences"] == {}
