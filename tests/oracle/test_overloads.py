"""Calls of every overload that PyTorch's schemas list: counts that must not fall. `overloads.py`
says how they are made and shows differences.
"""

import json
import runpy
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "overloads.json").read_text())
PART = 8  # each 8th call is made: enough to notice what broke


def test_counts_do_not_fall():
    module = runpy.run_path(str(HERE / "overloads.py"))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = module["run"](part=(0, PART), each=lambda *said: found.append(said))
    assert report["calls"] >= FLOOR["calls"]
    shown = "\n".join(f"{kind}: {call.path} {call.form}" for call, kind, _, _ in found[:40])
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
