"""The repairs that errors propose are tried out: what the hint says makes the call work."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pellucid as torch
from pellucid import nn
from pellucid.errors import facts_of

quick = settings(max_examples=40, deadline=None)
size = st.integers(2, 7)


def hint_of(call):
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)) as caught:
        call()
    return facts_of(caught.value).completed().hint or ""


def repaired(hint, pattern, **names):
    """The expression of the hint that the pattern finds, evaluated."""
    found = re.search(pattern, hint)
    assert found, hint
    return eval(found[0], {"torch": torch, **names})


@quick
@given(size, size)
def test_a_column_for_a_value_per_row(rows, columns):
    assume(rows != columns)
    a, b = torch.ones(rows, columns), torch.ones(rows)
    column = repaired(hint_of(lambda: a - b), r"b\.unsqueeze\(1\)", b=b)
    assert (a - column).shape == a.shape


@quick
@given(size, size, size, size)
def test_a_value_per_channel(batch, channels, height, width):
    assume(channels not in (width, 1) and width > 1 and batch != channels)
    a, b = torch.ones(batch, channels, height, width), torch.ones(channels)
    assert (a * repaired(hint_of(lambda: a * b), r"b\.view\([-\d, ]+\)", b=b)).shape == a.shape


@quick
@given(st.permutations([2, 3, 5, 7]), st.permutations([2, 3, 5, 7]))
def test_another_order_of_dimensions(first, second):
    assume(first != second)
    a, b = torch.ones(first), torch.ones(second)
    assert repaired(hint_of(lambda: a + b), r"b\.permute\([\d, ]+\)", b=b).shape == a.shape


@quick
@given(size, st.sampled_from([3, 4, 6]), st.integers(8, 12), st.integers(8, 12))
def test_channels_last(batch, channels, height, width):
    assume(channels not in (height, width))
    conv, x = nn.Conv2d(channels, 2, 3), torch.ones(batch, height, width, channels)
    moved = repaired(hint_of(lambda: conv(x)), r"x\.permute\([\d, ]+\)", x=x)
    assert conv(moved).shape == (batch, 2, height - 2, width - 2)


def test_an_image_as_wide_as_channels_are_wanted_has_its_channels_first():
    hint = hint_of(lambda: nn.Conv2d(16, 4, 3)(torch.ones(4, 12, 16, 16)))
    assert "permute" not in hint and "in_channels 12" in hint


@quick
@given(size, size, size, size)
def test_a_missing_flatten_and_wrong_features(batch, channels, height, out):
    x = torch.ones(batch, channels, height, 3)
    layer = nn.Linear(channels * height * 3, out)
    assume(x.shape[-1] != layer.in_features)
    assert "flatten(1)" in hint_of(lambda: layer(x))
    assert layer(x.flatten(1)).shape == (batch, out)
    wrong = nn.Linear(channels * height * 3 + 1, out)
    features = int(re.search(r"in_features (\d+)", hint_of(lambda: wrong(x.flatten(1))))[1])
    assert nn.Linear(features, out)(x.flatten(1)).shape == (batch, out)


@quick
@given(size, size, size, size)
def test_products(a, b, c, d):
    x, y = torch.ones(a, b), torch.ones(c, d)
    assume(b != c)
    hint = hint_of(lambda: x @ y)
    if "looks transposed: a @ b.T" in hint:
        assert (x @ y.T).shape == (a, c)
    elif "a.T @ b" in hint:
        assert (x.T @ y).shape == (b, d)
    elif "b @ a" in hint:
        assert (y @ x).shape == (c, b)
    else:
        assert f"({b})" in hint and f"({c})" in hint


@quick
@given(
    st.lists(size, min_size=2, max_size=3),
    st.lists(size, min_size=2, max_size=3),
    st.integers(0, 1),
)
def test_joining(first, second, dim):
    a, b = torch.ones(first), torch.ones(second)
    try:
        torch.cat([a, b], dim)
    except RuntimeError:
        pass
    else:
        assume(False)
    hint = hint_of(lambda: torch.cat([a, b], dim))
    found = re.search(r"dim=(\d)", hint)
    if found:
        assert torch.cat([a, b], dim=int(found[1])).ndim == a.ndim


@quick
@given(size, size, size, st.integers(1, 40))
def test_a_batch_that_was_written_down(batch, other, features, columns):
    assume(batch != other)
    x = torch.ones(batch, features, columns)
    hint = hint_of(lambda: x.view(other, features * columns)) if batch != other else ""
    assert f"the batch is {batch} here, not {other}" in hint
    assert x.view(x.shape[0], features * columns).shape == (batch, features * columns)


@quick
@given(size, size, size)
def test_classes_second(batch, time, classes):
    assume(time != classes)
    x, target = torch.ones(batch, time, classes), torch.zeros(batch, time, dtype=torch.long)
    hint = hint_of(lambda: nn.functional.cross_entropy(x, target))
    moved = repaired(hint, r"input\.transpose\(1, 2\)", input=x)
    assert nn.functional.cross_entropy(moved, target).shape == ()
