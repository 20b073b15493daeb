"""Ranges: arange, linspace, logspace, and the indices of triangles."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import config, devices, dtypes
from ...arrays.native import REAL, kernels, native_code_runs
from ...core.bind import wrap
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.public import public
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant, independent
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    OperationError,
    UnsupportedError,
    type_name,
    warn,
)
from ...llvm import threads
from .._numbers import as_number, fitting
from .._rules import require_tensor
from ._factory import build, check_memory, deliver, want_gradient

_NUMBERS = frozenset((int, float))


def _count(start: Any, end: Any, step: Any) -> int:
    """Return how many numbers there are from `start` up to, but not including, `end`."""
    if step == 0 or step != step:
        raise OperationError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise OperationError(f"unsupported range: {start} -> {end}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise OperationError("upper bound and lower bound inconsistent with step sign")
    if all(isinstance(v, int) for v in (start, end, step)):
        return -((start - end) // step)
    return math.ceil((end - start) / step)


def _steps(start: Any, step: Any, shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
    n = shape[0]
    if kind.kind in "iu":
        return (
            np.arange(int(start), int(start) + n * int(step), int(step), dtype=np.int64)[:n].astype(
                kind
            )
            if int(step)
            else np.full(n, int(start), kind)
        )
    return (start + step * np.arange(n, dtype=np.float64)).astype(kind)


# dtypes of the fast path of `arange`, and the largest whole number that it converts to each
_EVERYDAY = {
    **dict.fromkeys((dtypes.int64, dtypes.float32, dtypes.float64), (1 << 63) - 1),
    **dict.fromkeys((dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint8), 1 << 24),
    **dict.fromkeys((dtypes.float16, dtypes.bfloat16), 1 << 24),
}


@public()
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Evenly spaced numbers in [start, end): `arange(end)` or `arange(start, end, step)`.

    Args:
        start: the first number. Default: 0.
        end: the numbers stay below it.
        step: the distance between two numbers. Default: 1.
        dtype: the dtype. Default: int64 for integers, otherwise the default dtype.

    Raises:
        RuntimeError: a step of 0, or one that leads away from `end`.

    >>> import pellucid as torch
    >>> torch.arange(1, 6, 2)
    tensor([1, 3, 5])
    """
    if (
        type(start) is int
        and (end is None or type(end) is int)
        and type(step) is int
        and step > 0
        and (dtype is None or dtype in _EVERYDAY)
        and out is None
        and (device is devices.cpu or device is None and local.device is None)
        and not requires_grad
        and not pin_memory
        and layout is None
    ):
        # Fast path for the common call: whole numbers on the CPU.
        first, last = (0, start) if end is None else (start, end)
        most = _EVERYDAY[dtypes.int64 if dtype is None else dtype]
        if first <= last <= most and -most <= first:
            line = np.arange(first, last, step)
            if line.size >= threads.LARGE:
                threads.expect(line.size)
            if dtype is not None and dtype is not dtypes.int64:
                line = line.astype(dtype.numpy)
            if not state.slow:
                return wrap(line)
            return deliver(make_tensor(constant(line)), None, "arange")
    check_memory(layout, pin_memory)
    if start is None and end is None:
        raise ArgumentTypeError(
            "arange() received an invalid combination of arguments - got (), but expected (Number end)"
        )
    if start is None or end is None:
        start, end = 0, end if start is None else start
    start, end, step = (
        as_number(v, "arange", n, i + 1)
        for i, (v, n) in enumerate(((start, "start"), (end, "end"), (step, "step")))
    )
    given = dtypes.check_dtype(dtype, "arange")
    whole = all(isinstance(v, int) for v in (start, end, step))
    kind = given or (
        out.dtype if out is not None else dtypes.int64 if whole else dtypes.get_default_dtype()
    )
    if kind is dtypes.bool_ or kind.is_complex or kind.is_wide_unsigned or kind.is_float8:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind.scalar_type_name}'")
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise OperationError("value cannot be converted to type double without overflow")
    if kind is dtypes.int64 and not whole and all(map(math.isfinite, (start, end, step))):
        if step and not int(step):
            raise ArgumentValueError("step must be nonzero")
        start, end, step = int(start), int(end), int(step)
    if (
        kind is dtypes.int64
        and whole
        and not -(1 << 63) <= max(start, end, step, key=abs) < 1 << 63
    ):
        raise OperationError("value cannot be converted to type int64_t without overflow")
    n = _count(start, end, step)
    if n >= 1 << 63:
        raise OperationError("invalid size, possible overflow?")
    if kind is dtypes.int64 and not -(1 << 63) <= max(start, end, step, key=abs) < 1 << 63:
        raise OperationError("value cannot be converted to type int64_t without overflow")
    result = build(
        (n,), kind, device, requires_grad, lambda shape, k: _steps(start, step, shape, k)
    )
    return deliver(result, out, "arange", given)


@public(names="range")
def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers from `start` to `end`, both included, in steps; `arange` follows Python's convention
    and is preferred.

    >>> import warnings, pellucid as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.range(1, 3)
    tensor([1., 2., 3.])
    """

    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
    )
    check_memory(layout, pin_memory)
    if end is None:
        start, end = 0, start
    start, end, step = (
        as_number(v, "range", n, i + 1)
        for i, (v, n) in enumerate(((start, "start"), (end, "end"), (step, "step")))
    )
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise OperationError("value cannot be converted to type double without overflow")
    _count(start, end, step)
    kind = dtypes.check_dtype(dtype, "range") or (
        out.dtype if out is not None else dtypes.get_default_dtype()
    )
    n = math.floor((end - start) / step) + 1
    if kind.is_complex:
        raise UnsupportedError(f"\"range_cpu\" not implemented for '{kind.scalar_type_name}'")
    _check_kernel("range_cpu", kind)
    return deliver(
        build((n,), kind, device, requires_grad, lambda shape, k: _steps(start, step, shape, k)),
        out,
        "range",
    )


def _check_kernel(kernel: str, kind: dtypes.dtype) -> None:
    """Refuse the dtypes for which PyTorch has no kernel of this name."""
    if kind is dtypes.bool_ or kind.is_wide_unsigned or kind.is_float8:
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'")


def _check_steps(steps: Any, name: str) -> int:
    if isinstance(steps, Tensor):
        steps = steps.item()
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise ArgumentTypeError(
            f"{name}(): argument 'steps' (position 3) must be int, not {type_name(steps)}"
        )
    if steps < 0:
        raise OperationError("number of steps must be non-negative")
    return int(steps)


def _ends(start: Any, end: Any, name: str) -> tuple[Any, Any]:
    if type(start) in _NUMBERS and type(end) in _NUMBERS:
        return start, end
    wrong = [
        (k, v.ndim)
        for k, v in (("start", start), ("end", end))
        if isinstance(v, Tensor) and (v.ndim or isinstance(start, Tensor))
    ]
    if any(ndim for _, ndim in wrong):
        got = " and ".join(f"{argument} with {ndim} dimension(s)" for argument, ndim in wrong)
        raise OperationError(
            f"{name} only supports 0-dimensional start and end tensors, but got {got}."
        )
    start, end = (v.detach() if isinstance(v, Tensor) else v for v in (start, end))
    return as_number(start, name, "start", 1), as_number(end, name, "end", 2)


_FEW = 1 << 12  # up to this many numbers, no native code is loaded


def line_of(start: Any, end: Any, n: int, kind: np.dtype[Any]) -> np.ndarray:
    """Evenly spaced numbers, counted from the nearer end so that both ends are exact. The ends have
    the dtype first.
    """
    start = fitting(start, dtypes.BY_NUMPY[kind])
    if n == 1:
        return np.full(1, start, kind)
    _check_kernel("linspace_cpu", dtypes.BY_NUMPY[kind])
    end = fitting(end, dtypes.BY_NUMPY[kind])
    if kind.kind in "iu":
        work = np.dtype(np.float64)
    else:
        work = np.dtype(np.float32) if kind.itemsize < 4 else kind
    if n > 1 and kind in REAL and config.kernels and (n > _FEW or native_code_runs()):
        made = kernels.indexing.line.spaced(n, start, end, kind)
        if made is not None:
            return made
    a, b = work.type(start), work.type(end)
    step = (b - a) / work.type(n - 1)
    # Compute float32 in float64, which rounds once at the end, as PyTorch's fused multiply-add
    # does.
    wide = np.complex128 if work.kind in "cW" else np.float64
    a, b, step = wide(a), wide(b), wide(step)
    half = n // 2
    away = _from_both_ends(n) if n <= 1024 else _from_both_ends.__wrapped__(n)
    line: np.ndarray = np.multiply(away, step, away if n > 1024 and wide is np.float64 else None)
    first, rest = line[:half], line[half:]
    np.add(first, a, first)
    np.subtract(b, rest, rest)
    return line if line.dtype is kind else line.astype(work).astype(kind, copy=False)


@functools.lru_cache(64)
def _from_both_ends(n: int) -> np.ndarray:
    """Return for the first half of n numbers their distance from the first one, and for the others
    their distance from the last one.
    """
    away = np.arange(n, dtype=np.float64)
    away[n // 2 :] = away[: n - n // 2][::-1]
    return away


def _line_kind(
    name: str, start: Any, end: Any, dtype: Any, out: Tensor | None
) -> tuple[dtypes.dtype | None, dtypes.dtype]:
    given = dtypes.check_dtype(dtype, name)
    is_complex = isinstance(start, complex) or isinstance(end, complex)
    if given is not None and is_complex and not given.is_complex:
        inferred = f"c10::complex<{dtypes.get_default_dtype().c_name}>"
        raise OperationError(
            f"torch.{name}(): inferred dtype {inferred} can't be safely cast to passed dtype {given.scalar_type_name}"
        )
    default = dtypes.default_complex_dtype() if is_complex else dtypes.get_default_dtype()
    return given, given or (out.dtype if out is not None else default)


@public()
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Evenly spaced numbers from `start` to `end`, both included.

    Args:
        start, end: the ends, numbers or tensors with one element.
        steps: how many numbers.
        dtype: the dtype. Default: the default floating-point type.

    >>> import pellucid as torch
    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if (
        type(steps) is int
        and 0 < steps < threads.LARGE
        and type(start) in _NUMBERS
        and type(end) in _NUMBERS
        and out is layout is device is local.device is None
        and (dtype is None or type(dtype) is dtypes.dtype)
        and not (pin_memory or state.slow)
    ):  # the everyday call
        made = wrap(line_of(start, end, steps, (dtype or dtypes.get_default_dtype()).numpy))
        return want_gradient(made) if requires_grad else made
    check_memory(layout, pin_memory)
    n = _check_steps(steps, "linspace")
    a, b = _ends(start, end, "linspace")
    given, kind = _line_kind("linspace", a, b, dtype, out)
    result = build(
        (n,),
        kind,
        device,
        requires_grad,
        lambda shape, k: line_of(a, b, n, k) if n else np.empty(0, k),
    )
    return deliver(result, out, "linspace", given)


@public()
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Powers of `base` with evenly spaced exponents from `start` to `end`.

    Args:
        start, end: the first and the last exponent.
        steps: how many numbers.
        base: the base. Default: 10.
        dtype: the dtype. Default: the default floating-point type.

    >>> import pellucid as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_memory(layout, pin_memory)
    n = _check_steps(steps, "logspace")
    a, b = _ends(start, end, "logspace")
    given, kind = _line_kind("logspace", a, b, dtype, out)
    if n > 1 or kind is dtypes.bool_ and out is not None:
        _check_kernel("logspace_cpu", kind)

    def fill(shape: tuple[int, ...], k: np.dtype[Any]) -> np.ndarray:
        if n == 0:
            return np.empty(0, k)
        # whole exponents at both ends, steps of float32 between them, counted from the nearer end
        if k.kind in "iu":
            if n == 1:
                return np.full(1, fitting(float(np.float64(base) ** a), kind), k)
            first, last = fitting(a, kind), fitting(b, kind)
            step, i = np.float32(last - first) / np.float32(n - 1), np.arange(n)
            near = i < n // 2
            way = (step * np.where(near, i, n - 1 - i).astype(np.float32)).astype(np.float64)
            exponents = np.where(near, first + way, last - way)
            return np.trunc(np.float64(base) ** exponents).astype(k)
        wide = np.complex128 if k.kind in "cW" else np.float64
        if n > 1:
            fitting(a, kind), fitting(b, kind)
        return (np.asarray(base, wide) ** line_of(a, b, n, np.dtype(wide))).astype(k)

    return deliver(build((n,), kind, device, requires_grad, fill), out, "logspace", given)


# ---- triangles --------------------------------------------------------------------------------
@independent
def _places(rule: Any, row: int, col: int, offset: int) -> np.ndarray:
    return np.stack(rule(np.ones((row, col), bool), offset).nonzero())


def _triangle(name: str, rule: Any, doc: str, shows: str) -> None:
    def make(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = dtypes.int64,
        device: Any = None,
        layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        check_memory(layout, pin_memory)
        for position, (argument, value) in enumerate(
            (("row", row), ("col", col), ("offset", offset)), start=1
        ):
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise ArgumentTypeError(
                    f"{name}(): argument '{argument}' (position {position}) must be int, not {type_name(value)}"
                )
        kind = dtypes.check_dtype(dtype, name) or dtypes.int64
        if kind.category != 1:
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind.scalar_type_name}'")
        for size, what in ((row, "row"), (col, "col")):
            if size < 0:
                raise OperationError(f"{what} must be non-negative, got{size}")
        found = _places(rule, row, col, min(max(offset, -row - 1), col + 1))
        return build(found.shape, kind, device, False, lambda shape, k: found.astype(k))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""The row and column indices of the {doc} triangle of a matrix, as a 2-by-n tensor.

    Args:
        row, col: the size of the matrix.
        offset: where the triangle ends. 0 is the main diagonal, positive ones are above it.
            Default: 0.
        dtype: an integer type. Default: int64.

    >>> import pellucid as torch
    >>> torch.{name}(2, 2)
    {shows}
    """
    public()(make)


_triangle("tril_indices", np.tril, "lower", "tensor([[0, 1, 1],\n            [0, 0, 1]])")
_triangle("triu_indices", np.triu, "upper", "tensor([[0, 0, 1],\n            [0, 1, 1]])")


@public()
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Vandermonde matrix: each row holds the powers of one element.

    Args:
        x: a vector.
        N: how many powers. Default: the length of `x`.
        increasing: start with the power 0 instead of the highest. Default: False.

    >>> import pellucid as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if require_tensor(x, "vander", "x").ndim != 1:
        raise OperationError("x must be a one-dimensional tensor.")
    n = len(x._array) if N is None else N
    if n < 0:
        raise OperationError("N must be non-negative.")
    exponents = np.arange(n) if increasing else np.arange(n)[::-1]
    base = F.expand(x[:, None], shape=(len(x._array), n))
    if x.dtype.category == 0:
        base = F.cast(base, dtype=np.dtype(np.int64))
    return F.pow(base, make_tensor(constant(np.ascontiguousarray(exponents))))
