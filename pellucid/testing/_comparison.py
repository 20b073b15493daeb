"""`assert_close` compares numbers, tensors, arrays and containers of them, and reports where they
differ.

A comparison has two steps. `_pairs` walks both containers and yields one comparison per pair of
leaves, so that a difference in structure is reported before any value. Then the comparisons run,
and the first failure is reported.
"""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np

from .. import dtypes
from ..arrays.sparse.array import BY_ROWS, SparseArray
from ..core.modes import no_grad
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor

# (relative, absolute); integers and booleans must be equal.
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
_NUMBER_DTYPES = {
    bool: dtypes.bool_,
    int: dtypes.int64,
    float: dtypes.float64,
    complex: dtypes.complex128,
}

Message = str | Callable[[str], str] | None


@dataclass
class _Options:
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *kinds: Any) -> tuple[float, float]:
        """Those given, else the loosest of the dtypes' own."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` holds for every
    element.

    Args:
        actual, expected: tensors, NumPy arrays, Python or NumPy numbers, None, or sequences and
            mappings of them.
        allow_subclasses: False asks for exactly the same type of tensor on both sides.
        rtol, atol: give both or none. Without them the dtype decides: 1.3e-6 and 1e-5 for float32,
            1e-7 and 1e-7 for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, zero
            for integers and booleans; complex as their parts.
        equal_nan: whether two NaN are equal.
        check_device, check_dtype, check_layout, check_stride: whether these must agree.
        msg: replaces the text of the error, or a function of the text.

    Raises:
        AssertionError: with the number of elements that differ, and the place and size of the
            greatest differences.
        ValueError: when one tolerance is given without the other.
        TypeError: for two things that cannot be compared.

    Example:
        >>> import pellucid as torch
        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
        Traceback (most recent call last):
        AssertionError: Tensor-likes are not close!
        ...
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}."
        )
    options = _Options(
        allow_subclasses,
        rtol,
        atol,
        equal_nan,
        check_device,
        check_dtype,
        check_layout,
        check_stride,
    )
    try:
        comparisons = list(_pairs(actual, expected, (), options))
        with no_grad():
            for path, compare in comparisons:
                try:
                    compare()
                except AssertionError as error:
                    raise AssertionError(_with_path(str(error), path)) from None
    except AssertionError as error:
        text = str(error)
    else:
        return
    raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Older form of `assert_close`: converts both to tensors, ignores dtype and device, and takes
    two NaN for equal.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     assert_allclose([1.0], [1.0])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    tensor = FUNCTIONS["torch"]["tensor"]
    actual = actual if isinstance(actual, Tensor) else tensor(actual)
    expected = expected if isinstance(expected, Tensor) else tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        loose = {
            dtypes.float16: (1e-3, 1e-3),
            dtypes.float32: (1e-4, 1e-5),
            dtypes.float64: (1e-5, 1e-8),
        }
        known = [loose.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(r for r, _ in known), max(a for _, a in known)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )


# ---- containers ------------------------------------------------------------------------------
def _with_path(text: str, path: tuple[Any, ...]) -> str:
    return (
        f"{text}\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"
        if path
        else text
    )


def _pairs(
    actual: Any, expected: Any, path: tuple[Any, ...], options: _Options
) -> Iterator[tuple[Any, Callable[[], None]]]:
    if _both(actual, expected, Sequence) and not _any(actual, expected, str, bytes):
        if len(actual) != len(expected):
            raise AssertionError(
                _with_path(
                    f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
                )
            )
        for i in range(len(actual)):
            yield from _pairs(actual[i], expected[i], (*path, i), options)
    elif _both(actual, expected, Mapping):
        missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or extra:
            raise AssertionError(
                _with_path(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {_ordered(missing)}\n"
                    f"Additional keys in the actual mapping: {_ordered(extra)}",
                    path,
                )
            )
        for key in _ordered(actual):
            yield from _pairs(actual[key], expected[key], (*path, key), options)
    else:
        yield path, _leaf(actual, expected, path, options)


def _ordered(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # keys of several types
        return list(keys)


def _both(actual: Any, expected: Any, *kinds: type) -> bool:
    return isinstance(actual, kinds) and isinstance(expected, kinds)


def _any(actual: Any, expected: Any, *kinds: type) -> bool:
    return isinstance(actual, kinds) or isinstance(expected, kinds)


def _leaf(
    actual: Any, expected: Any, path: tuple[Any, ...], options: _Options
) -> Callable[[], None]:
    if actual is None or expected is None:
        return lambda: _compare_none(actual, expected)
    if _both(actual, expected, bool, np.bool_):
        return lambda: _compare_booleans(bool(actual), bool(expected))
    if _both(actual, expected, Number, np.number):
        return lambda: _compare_numbers(actual, expected, options)
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    same = type(actual) is type(expected) or options.allow_subclasses
    if related and same and (isinstance(actual, Tensor) or hasattr(actual, "__array__")):
        return lambda: _compare_tensors(_as_tensor(actual), _as_tensor(expected), options)
    raise TypeError(
        _with_path(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            path,
        )
    )


def _as_tensor(value: Any) -> Tensor:
    return (
        value if isinstance(value, Tensor) else FUNCTIONS["torch"]["as_tensor"](np.asarray(value))
    )


# ---- leaves ----------------------------------------------------------------------------------
def _compare_none(actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise AssertionError(f"None mismatch: {actual} is not {expected}")


def _compare_booleans(actual: bool, expected: bool) -> None:
    if actual is not expected:
        raise AssertionError(f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    actual, expected = (x.item() if isinstance(x, np.generic) else x for x in (actual, expected))
    if options.check_dtype and type(actual) is not type(expected):
        raise AssertionError(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    rtol, atol = options.tolerances(*(_NUMBER_DTYPES.get(type(x)) for x in (actual, expected)))
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if (
        cmath.isfinite(actual)
        and cmath.isfinite(expected)
        and difference <= atol + rtol * abs(expected)
    ):
        return
    raise AssertionError(_scalar_text(actual, expected, rtol, atol))


def _scalar_text(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected != 0 else float("inf")
    return (
        f"Scalars are not {_verdict(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _verdict(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options) -> None:
    if actual.shape != expected.shape:
        _attribute("shape", actual.shape, expected.shape)
    if options.check_layout and actual.layout != expected.layout:
        _attribute("layout", actual.layout, expected.layout)
    if options.check_device and actual.device != expected.device:
        _attribute("device", actual.device, expected.device)
    if options.check_dtype and actual.dtype != expected.dtype:
        _attribute("dtype", actual.dtype, expected.dtype)
    if options.check_stride and actual.stride() != expected.stride():
        _attribute("stride()", actual.stride(), expected.stride())
    if actual.is_meta and expected.is_meta:
        return
    if actual.layout != expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.layout is not dtypes.strided and type(actual._array) is SparseArray:
        return _compare_sparse(actual, expected, options)
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if actual.dtype != expected.dtype:
        common = dtypes.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    elif actual.dtype.itemsize == 1 and actual.dtype.is_floating_point:
        # eight-bit floats do not compute
        actual, expected = actual.to(dtypes.float32), expected.to(dtypes.float32)
    matches = FUNCTIONS["torch"]["isclose"](
        actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan
    )
    if matches.all().item():
        return
    if actual.dim() == 0:
        raise AssertionError(_scalar_text(actual.item(), expected.item(), rtol, atol))
    raise AssertionError(_tensor_text(actual, expected, matches, rtol, atol))


def _compare_sparse(actual: Any, expected: Any, options: _Options) -> None:
    """The places of two sparse tensors, which must be equal, and then their values."""
    a, b = actual._array.coalesce(), expected._array.coalesce()
    kind = a.layout.upper()
    title = f"Sparse {kind}"
    if a.nnz != b.nnz:
        raise AssertionError(
            f"The number of specified values in sparse {kind} tensors does not match: {a.nnz} != {b.nnz}"
        )
    first, second = (
        ("crow_indices", "col_indices") if a.layout in BY_ROWS else ("ccol_indices", "row_indices")
    )
    parts: list[tuple[str, Any, Any]] = [
        ("indices" if a.layout == "coo" else first, a.indices, b.indices)
    ]
    if a.plain is not None:
        parts.append((second, a.plain, b.plain))
    exact = replace(options, rtol=0.0, atol=0.0, check_stride=False)
    for name, x, y in [*parts, ("values", a.values, b.values)]:
        try:
            _compare_tensors(make_tensor(x), make_tensor(y), options if name == "values" else exact)
        except AssertionError as error:
            raise AssertionError(str(error).replace("Tensor-likes", f"{title} {name}", 1)) from None


def _attribute(name: str, actual: Any, expected: Any) -> None:
    raise AssertionError(f"The values for attribute {name!r} do not match: {actual} != {expected}.")


def _tensor_text(
    actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float
) -> str:
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
    shape = tuple(matches.shape)
    wrong = matches.numel() - int(matches.sum().item())
    absolute = (actual - expected).abs().masked_fill(matches, 0)
    relative = ((actual - expected).abs() / expected.abs()).masked_fill(matches, 0)
    lines = [f"Mismatched elements: {wrong} / {matches.numel()} ({wrong / matches.numel():.1%})"]
    for name, values, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = int(values.flatten().argmax().item())
        at = tuple(int(i) for i in np.unravel_index(place, shape))
        greatest = values.flatten()[place].item()
        lines.append(
            f"Greatest {name} difference: {greatest} at index {at}{_allowed(tolerance, rtol, atol)}"
        )
    return f"Tensor-likes are not {_verdict(rtol, atol)}!\n\n" + "\n".join(lines)
