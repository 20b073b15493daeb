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
PART = 48


def test_every_call_is_equal_or_has_a_reason(tmp_path):
    """In a process of its own: PyTorch gives some warnings once, and what other tests have loaded
    (sparse and quantised tensors) changes some words.
    """
    written = tmp_path / "report.json"
    command = [sys.executable, str(HERE / "overloads.py")]
    done = subprocess.run(
        [*command, "--json", str(written)],
        capture_output=True,
        text=True,
        timeout=1200,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads(written.read_text())
    module = runpy.run_path(str(HERE / "overloads.py"))
    assert module["unaccounted"](report["found"], FLOOR["reasons"]) == []
    assert report["calls"] >= FLOOR["calls"]
    assert report["calls equal"] >= FLOOR["calls equal"]


def test_calls_without_a_reason_and_reasons_without_a_call_are_found():
    unaccounted = runpy.run_path(str(HERE / "overloads.py"))["unaccounted"]
    found = [["torch.f", "f()", "out", "", "values", "", ""]]
    assert unaccounted(found, {"torch.f: out": "why"}) == []
    assert unaccounted(found, {}) == ["torch.f: out: values, and no reason"]
    assert unaccounted([], {"torch.f: out": "why"}) == ["torch.f: out: equal now, but has a reason"]
    assert all(len(reason) > 10 for reason in FLOOR["reasons"].values())


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

            module["run"](part=(1, PART), each=each)
            module["shorten_at_once"]()  # the next call of each function makes its entry
    assert found[0] == found[1]


@pytest.mark.parametrize("path", FLOOR["paths"])
def test_everything_is_equal(path):
    module = runpy.run_path(str(HERE / "overloads.py"))
    report = module["run"](path.replace(".", r"\."))
    assert report["calls"] and report["differences"] == {}
