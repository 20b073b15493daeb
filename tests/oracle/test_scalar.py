"""The engine on single numbers against PyTorch, on random programs."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from pellucid.scalar import Value

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

sys.path.insert(0, str(Path(__file__).parents[1]))
try:
    import scalar_programs
finally:
    sys.path.pop(0)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(scalar_programs.PROGRAMS)
def test_gradients_are_pytorchs(program):
    data, gradients = scalar_programs.run(program, Value, lambda v: v.data)
    expected, wanted = scalar_programs.run(
        program,
        lambda x: torch.tensor(x, dtype=torch.float64, requires_grad=True),
        lambda t: t.item(),
    )
    assert data == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert gradients == pytest.approx(wanted, rel=1e-7, abs=1e-7)
