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
        return (x - ns.mean(x, axis=0, keepdims=True)) / ns.std(
            x, axis=0, keepdims=True, correction=1
        )

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
        torch.from_numpy(a),
        axis=axis,
        keepdims=keepdims,
        **({"correction": 0} if name in ("std", "var") else {}),
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
    assert (
        values.tolist() == [1, 2, 3]
        and indices.tolist() == [1, 2, 0]
        and counts.tolist() == [1, 1, 2]
    )
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


def test_inspection(xp):
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
    assert info.dtypes(kind="complex floating") == {
        "complex64": torch.complex64,
        "complex128": torch.complex128,
    }
    assert len(info.dtypes()) == 13 and info.dtypes(kind=("bool", "bool")) == {"bool": torch.bool}
    with pytest.raises(ValueError, match="unsupported kind"):
        info.dtypes(kind="float")
    assert info.default_dtypes()["indexing"] is torch.int64
    assert torch.ones(1).to_device("cpu").device == torch.device("cpu")
    with pytest.raises(ValueError, match="no streams"):
        torch.ones(1).to_device("cpu", stream=1)


def test_creation(xp):
    assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]] and xp.eye(2, k=5).tolist() == [
        [0, 0],
        [0, 0],
    ]
    assert (
        xp.arange(3, 0).tolist() == []
        and xp.arange(3.0, 0).dtype is torch.float32
        and xp.arange(2).tolist() == [0, 1]
    )
    assert xp.linspace(0.0, 1.0, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.zeros(2).tolist() == [0, 0] and xp.full((), 3).item() == 3
    assert [a.tolist() for a in xp.meshgrid(xp.arange(2), xp.arange(1))] == [[[0, 1]], [[0, 0]]]


def test_special_values(xp):
    inf, nan = float("inf"), float("nan")
    x = xp.asarray([inf, -inf, 1.0, -1.0])
    assert xp.floor_divide(x, xp.asarray([2.0, 2.0, -inf, inf])).tolist() == [inf, -inf, 0, 0]
    assert xp.floor_divide(xp.asarray([7, -7]), 2).tolist() == [3, -4]
    assert np.isnan(xp.sign(xp.asarray([nan])).tolist()[0]) and xp.sign(
        xp.asarray([0j, 3j])
    ).tolist() == [0, 1j]
    z = xp.expm1(
        xp.asarray([complex(inf, 0), complex(-inf, nan), complex(1e-9, 1e-9)], dtype=xp.complex128)
    ).tolist()
    assert z[0] == complex(inf, 0) and z[1] == -1 and abs(z[2] - np.expm1(1e-9 + 1e-9j)) < 1e-24


def test_unsigned_integers_promote(xp):
    a, b = xp.asarray([1], dtype=xp.uint16), xp.asarray([2], dtype=xp.uint8)
    assert xp.add(a, b).dtype is xp.uint16 and xp.linalg.outer(a, b).dtype is xp.uint16
    assert (
        xp.result_type(xp.uint16, xp.int16) is xp.int32
        and xp.can_cast(xp.uint8, xp.uint16)
        and not xp.can_cast(xp.bool, xp.uint8)
    )
    assert xp.sum(b).dtype is xp.uint64 and xp.cumulative_sum(b).dtype is xp.uint64
    assert (
        xp.result_type(xp.asarray([True]), 1) is xp.int64
        and xp.result_type(xp.int8, 1.5, 1j) is xp.complex64
    )
    assert xp.finfo(xp.asarray([1j])).dtype is xp.float32 and xp.iinfo(xp.uint8).max == 255


def test_axes(xp):
    x = xp.reshape(xp.arange(6), (2, 3))
    assert xp.sum(x, axis=()).shape == (2, 3) and xp.linalg.vector_norm(
        xp.astype(x, xp.float32), axis=()
    ).shape == (2, 3)
    assert xp.linalg.trace(x, offset=1).item() == 6 and xp.linalg.diagonal(x).tolist() == [0, 4]
    assert xp.count_nonzero(x, axis=1).tolist() == [2, 3] and xp.diff(x, axis=0).tolist() == [
        [3, 3, 3]
    ]
    assert xp.cumulative_prod(x[1, :], include_initial=True).tolist() == [1, 3, 12, 60]
    assert xp.nonzero(x)[1].tolist() == [1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match="axis"):
        xp.nonzero(xp.asarray(1))
    with pytest.raises(ValueError, match="view"):
        xp.reshape(xp.permute_dims(x, (1, 0)), (6,), copy=False)
    y = xp.astype(x, xp.float64)
    assert np.allclose(xp.fft.ifftn(xp.fft.fftn(y, axes=(0,)), axes=(0,)).real.numpy(), y.numpy())
    a, b = xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 4.0])
    assert xp.linalg.solve(a, b).tolist() == [1, 1] and xp.linalg.svd(a).S.tolist() == [4, 2]


def test_operands_without_dimensions_count_as_the_others(xp):
    single, double = xp.asarray([1.0], dtype=xp.float32), xp.asarray(1.0, dtype=xp.float64)
    assert xp.logaddexp(single, double).dtype is xp.float64
    short, byte = xp.asarray(2, dtype=xp.int16), xp.asarray([3], dtype=xp.int8)
    assert xp.multiply(short, byte).dtype is xp.int16
    assert (
        xp.vecdot(xp.asarray([1], dtype=xp.uint8), xp.asarray([2], dtype=xp.uint16)).dtype
        is xp.uint16
    )


def test_linear_algebra_promotes(xp):
    a = xp.asarray([[2.0, 0.0], [0.0, 4.0]], dtype=xp.float32)
    b = xp.asarray([2.0, 2.0], dtype=xp.float64)
    assert xp.linalg.solve(a, b).tolist() == [1.0, 0.5]
    assert xp.tensordot(a, b, axes=1).dtype is xp.float64
    x, y = xp.asarray([1, 0, 0], dtype=xp.int8), xp.asarray([0, 1, 0], dtype=xp.int16)
    assert xp.linalg.cross(x, y).tolist() == [0, 0, 1]


def test_places_from_the_end_and_limits_of_both_kinds(xp):
    x = xp.asarray([[1, 2, 3]])
    assert xp.take(x, xp.asarray([-1, 0]), axis=1).tolist() == [[3, 1]]
    assert xp.clip(x, 2, xp.asarray([2, 2, 2])).tolist() == [[2, 2, 2]]


def test_different_complex_numbers(xp):
    x = xp.asarray([[1 + 1j, 2 + 0j], [1 + 1j, 0 - 1j]])
    values, indices, inverse, counts = xp.unique_all(x)
    assert values.tolist() == [-1j, 1 + 1j, 2 + 0j] and counts.tolist() == [1, 2, 1]
    assert values[inverse].tolist() == x.tolist() and indices.tolist() == [3, 0, 1]
    assert xp.unique_values(x).shape == (3,)


def test_vecdot_asks_for_vectors_of_one_size(xp):
    x, one, empty = xp.ones((2, 3)), xp.ones((2, 1)), xp.ones(0)
    for space in (xp, xp.linalg):
        for a, b in ((x, one), (one, x), (x, empty), (xp.asarray([1]), xp.asarray([1, 2, 3]))):
            with pytest.raises(ValueError, match="along the axis"):
                space.vecdot(a, b)
        assert space.vecdot(x, x[:1, :]).tolist() == [3, 3]
        assert space.vecdot(x, xp.ones(3)).tolist() == [3, 3]
        with pytest.raises(IndexError):
            space.vecdot(x, x, axis=2)


def test_signs_of_complex_zeros(xp):
    inf = float("inf")
    z = xp.asarray([complex(inf, 2.0), complex(-inf, -2.0), complex(0.5, 1.0)])
    found = xp.tanh(z)
    assert found.real.tolist()[:2] == [1, -1] and abs(found[2].item() - np.tanh(0.5 + 1j)) < 1e-6
    assert xp.signbit(found.imag).tolist()[:2] == [False, True]
    zero = xp.expm1(xp.asarray([complex(-0.0, 0.0), complex(0.0, 0.0)]))
    assert xp.signbit(zero.real).tolist() == [False, False] and zero.tolist() == [0, 0]


def test_unsigned_integers_join_and_complex_numbers_round(xp):
    joined = xp.concat([xp.asarray([1], dtype=xp.uint8), xp.asarray([2], dtype=xp.uint16)])
    assert joined.dtype is xp.uint16 and joined.tolist() == [1, 2]
    assert xp.round(xp.asarray([1.5 + 2.5j])).tolist() == [2 + 2j]
