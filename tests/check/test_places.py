"""Expressions of the program, as fixes show them."""

import pytest

from pellucid.check.rules.source.places import receiver


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("y", "y"),
        ("model(x)", "model(x)"),
        ("batch['y'][0]", "batch['y'][0]"),
        ("x @ w + b", "(x @ w + b)"),
        ("-scores", "(-scores)"),
        ("the target", "the target"),
    ],
)
def test_an_operation_stands_in_parentheses_before_a_method(text, shown):
    assert receiver(text) == shown
