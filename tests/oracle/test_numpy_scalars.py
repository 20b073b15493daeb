"""NumPy scalars beside tensors: they count as the numbers that PyTorch takes them for."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

SCALARS = [
    np.bool_(True),
    np.int8(3),
    np.uint8(3),
    np.float16(1.5),
    np.float64(1.5),
    np.complex64(2 + 1j),
    np.complex128(2 + 1j),
]

CALLS = {
    "x + v": lambda root, x, v: x + v,
    "v + x": lambda root, x, v: v + x,
    "x * v": lambda root, x, v: x * v,
    "x - v": lambda root, x, v: x - v,
    "x / v": lambda root, x, v: x / v,
    "x ** v": lambda root, x, v: x**v,
    "v ** x": lambda root, x, v: v**x,
    "x == v": lambda root, x, v: x == v,
    "x >= v": lambda root, x, v: x >= v,
    "x % v": lambda root, x, v: x % v,
    "x += v": lambda root, x, v: x.clone().__iadd__(v),
    "alpha": lambda root, x, v: root.add(x, x, alpha=v),
    "fill_": lambda root, x, v: x.clone().fill_(v),
    "full": lambda root, x, v: root.full((2,), v),
    "full_like": lambda root, x, v: root.full_like(x, v),
    "new_full": lambda root, x, v: x.new_full((1,), v),
    "where": lambda root, x, v: root.where(x > 0, x, v),
    "masked_fill": lambda root, x, v: x.masked_fill(x.bool(), v),
    "index_fill": lambda root, x, v: x.index_fill(0, root.tensor([0]), v),
    "scatter": lambda root, x, v: x.scatter(0, root.tensor([0]), v),
    "clamp": lambda root, x, v: x.clamp(v),
    "arange": lambda root, x, v: root.arange(v),
}


@pytest.mark.parametrize("kind", ["bool", "int64", "float32"])
@pytest.mark.parametrize("value", SCALARS, ids=lambda v: type(v).__name__)
def test_a_numpy_scalar_counts_as_in_pytorch(value, kind):
    def told(root, call):
        try:
            made = call(root, root.ones(2, dtype=getattr(root, kind)), value)
        except Exception as error:
            return type(error).__name__, str(error)
        return str(made.dtype), made.tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        for name, call in CALLS.items():
            assert told(pellucid, call) == told(torch, call), name
        assert str(pellucid.result_type(pellucid.ones(2), value)) == str(
            torch.result_type(torch.ones(2), value)
        )


def test_a_complex64_loses_its_imaginary_part_with_a_warning():
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as seen:
        made = pellucid.ones(1) * np.complex64(2 + 1j)
    assert made.tolist() == [2.0] and seen[0].filename == __file__
