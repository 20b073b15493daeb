"""The array API namespace of tensors."""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch


@pytest.fixture
def xp():
    return torch.ones(1).__array_namespace__(api_version="2023.12")


def test_code_written_against_the_standard_runs(xp):
    def standardize(x):
        ns = x.__array_namespace__()
        return (x - ns.mean(x, axis=0, keepdims=True)) / ns.std(x, axis=0, keepdims=True, correction=1)

    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])
    a = x.numpy()
    expected = (a - a.mean(0)) / a.std(0, ddof=1)
    assert np.allclose(standardize(x).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "any", "all", "std", "var"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_take_axis_and_keepdims(xp, name, axis, keepdims):
    a = np.arange(6, dtype=np.float64).reshape(2, 3) + 1
    got = getattr(xp, name)(
        torch.from_numpy(a), axis=axis, keepdims=keepdims, **({"correction": 0} if name in ("std", "var") else {})
    )
    expected = getattr(np, name)(a, axis=axis, keepdims=keepdims)
    assert got.shape == expected.shape and np.allclose(got.numpy(), expected)


def test_manipulation_and_sets(xp):
    x = xp.asarray([[3, 1], [2, 3]])
    assert xp.concat((x, x), axis=1).shape == (2, 4) and xp.concat((x, x), axis=None).shape == (8,)
    assert xp.permute_dims(x, (1, 0)).tolist() == [[3, 2], [1, 3]]
    assert xp.expand_dims(x, axis=-1).shape == (2, 2, 1)
    with pytest.raises(ValueError, match="must be equal to 1"):
        xp.squeeze(x, axis=0)
    values, indices, inverse, counts = xp.unique_all(x)
    assert values.tolist() == [1, 2, 3] and indices.tolist() == [1, 2, 0] and counts.tolist() == [1, 1, 2]
    assert values[inverse].tolist() == x.tolist()
    assert xp.sort(x, axis=0, descending=True).tolist() == [[3, 3], [2, 1]]
    assert xp.cumulative_sum(xp.asarray([1, 2]), include_initial=True).tolist() == [0, 1, 3]


def test_dtypes(xp):
    assert xp.isdtype(xp.float32, "real floating") and not xp.isdtype(xp.bool, "integral")
    assert xp.isdtype(xp.int8, ("bool", "signed integer"))
    assert xp.result_type(xp.int32, xp.asarray([1.0])) is xp.float32
    assert xp.can_cast(xp.int32, xp.int64) and not xp.can_cast(xp.int64, xp.int32)
    assert xp.astype(xp.asarray([1.5]), xp.int64).tolist() == [1]


def test_unknown_names_and_versions_are_refused(xp):
    with pytest.raises(AttributeError, match="no function 'no_such_name'"):
        xp.no_such_name
    with pytest.raises(ValueError, match="1999"):
        torch.ones(1).__array_namespace__(api_version="1999.01")
