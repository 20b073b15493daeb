"""`assert_close` compares numbers, tensors, arrays and containers of them, and reports where they
differ.

Its parts, which libraries use for comparisons of their own, are in `_pairs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..errors import warn
from ._pairs import BooleanPair as BooleanPair
from ._pairs import ErrorMeta as ErrorMeta
from ._pairs import NonePair as NonePair
from ._pairs import NumberPair as NumberPair
from ._pairs import ObjectPair as ObjectPair
from ._pairs import Pair as Pair
from ._pairs import TensorLikePair as TensorLikePair
from ._pairs import UnsupportedInputs as UnsupportedInputs
from ._pairs import default_tolerances as default_tolerances
from ._pairs import get_tolerances as get_tolerances
from ._pairs import make_scalar_mismatch_msg as make_scalar_mismatch_msg
from ._pairs import make_tensor_mismatch_msg as make_tensor_mismatch_msg
from ._pairs import not_close_error_metas as not_close_error_metas
from ._pairs import originate_pairs as originate_pairs

Message = str | Callable[[str], str] | None


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
    found = not_close_error_metas(
        actual,
        expected,
        pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
        allow_subclasses=allow_subclasses,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
        msg=msg,
    )
    if found:
        raise found[0].to_error(msg)


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
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
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
