"""The recorded outcomes of element-wise operations and factories are PyTorch's."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

_spec = importlib.util.spec_from_file_location(
    "outcomes", Path(__file__).parents[1] / "ops" / "outcomes.py"
)
outcomes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(outcomes)


@pytest.mark.parametrize("expression", outcomes.EXPECTED)
def test_recorded_outcome_of(expression):
    assert outcomes.outcome(torch, expression) == outcomes.EXPECTED[expression]
