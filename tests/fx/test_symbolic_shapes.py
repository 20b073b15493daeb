"""`torch.fx.experimental.symbolic_shapes`: sizes are known, so questions have plain answers."""

import pytest

import pellucid as torch
from pellucid.fx.experimental import symbolic_shapes as shapes


def test_questions_about_sizes_have_plain_answers():
    x = torch.ones(2, 3)
    assert shapes.guard_or_false(x.shape[0] == 2) and not shapes.guard_or_true(x.shape[0] == 3)
    assert shapes.statically_known_true(x.numel() == 6) and shapes.statically_known_false(
        x.numel() == 5
    )
    assert shapes.sym_eq(x.shape, (2, 3)) and not shapes.sym_eq([2], [2, 3])
    assert shapes.sym_and(True, 1 < 2) and shapes.sym_or(False, 1 < 2)
    assert shapes.free_symbols(x) == shapes.free_unbacked_symbols(3) == set()
    assert (
        not shapes.has_free_symbols(3)
        and not shapes.is_symbolic(3)
        and not shapes.has_symbolic_sizes_strides(x)
    )
    assert (
        shapes.guard_int(3),
        shapes.guard_bool(True),
        shapes.guard_float(0.5),
        shapes.guard_scalar(2),
    ) == (3, True, 0.5, 2)
    with pytest.raises(AssertionError):
        shapes.guard_scalar("a")
    with pytest.raises(AssertionError, match="unexpected sym_eq"):
        shapes.sym_eq(1, (1,))
