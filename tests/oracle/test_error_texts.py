"""Errors of PyTorch's database of operators: how many have the same class and text; a count that must not fall."""

import json
import runpy
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "overloads.json").read_text())["error texts"]


def test_the_count_does_not_fall():
    module = runpy.run_path(str(HERE / "error_texts.py"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(module["compared"]())
    equal = sum(theirs == ours for _, theirs, ours in found)
    assert len(found) >= FLOOR["calls"]
    shown = "\n".join(f"{name}\n  {theirs}\n  {ours}" for name, theirs, ours in found if theirs != ours)[:20000]
    assert equal >= FLOOR["equal"], shown
