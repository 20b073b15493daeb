"""Format tensors as text, character for character as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite, prod
from typing import Any

import numpy as np

from ...devices import cpu, device
from ...dtypes import (
    BY_NAME,
    bool_,
    complex64,
    complex128,
    dtype,
    float64,
    from_numpy,
    get_default_dtype,
    int64,
)
from ...errors import ArgumentTypeError
from .. import tracing


@dataclass
class PrintOptions:
    """The options that `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PrintOptions.__qualname__ = "__PrinterOptions"  # the name in PyTorch's repr
OPTIONS = PrintOptions()

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is left out stays, except `sci_mode`.

    Args:
        precision: digits after the point (4).
        threshold: tensors with more elements are shortened (1000).
        edgeitems: elements kept at each end of a shortened dimension (3).
        linewidth: characters on a line (80).
        profile: "default", "short" or "full", changed by the other arguments; another word changes
            nothing.
        sci_mode: scientific notation always or never; None decides for each tensor.

    >>> import pellucid as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([3.14159])
    tensor([3.14])
    >>> torch.set_printoptions(profile="default")
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen = PROFILES.get(profile or "", {}) | {
        name: value for name, value in given.items() if value is not None
    }
    tracing.setting("sets how tensors are printed")
    for name, value in chosen.items():
        setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The present options, as arguments for `set_printoptions`."""
    return asdict(OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions` inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def python_number(array: Any) -> Any:
    """The element of an array of one element as a Python bool, int, float or complex.

    Example:
        >>> python_number(np.float32(0.5))
        0.5
    """
    value = array.item()
    # The scalars of ml_dtypes (bfloat16, float8) are no subclasses of float.
    return value if isinstance(value, int | float | complex) else float(value)


def format_tensor(array: Any, spec: str, text: Callable[[], str], *, plain: bool = True) -> str:
    """`format(tensor, spec)`: a tensor without dimensions is formatted as its number, others only
    with an empty `spec`.

    Args:
        text: makes the tensor's `str`.
        plain: False for subclasses of Tensor and for meta tensors, which are not formatted as
            numbers.

    Raises:
        TypeError: a format is asked for that only numbers have.
    """
    if plain and not array.shape:
        return format(python_number(array), spec)
    if spec:
        raise ArgumentTypeError(
            "unsupported format string passed to Tensor.__format__",
            found=f"format {spec!r} for a tensor of shape {list(array.shape)}",
        )
    return text()


class _Numbers:
    """The format of the real numbers of one tensor: the notation, and the width of a column."""

    def __init__(self, values: np.ndarray[Any, Any], powers: bool = False) -> None:
        self.floating = values.dtype.kind == "f"
        self.whole, self.scientific, self.width = True, False, 1
        if not self.floating:
            self.width = max((len(str(value)) for value in values.ravel().tolist()), default=1)
            return
        # Zeros, infinities and NaN do not influence notation and width: they are often padding or
        # accidents.
        told = values[np.isfinite(values) & (values != 0)]
        if powers:  # whose smallest stands for zero; PyTorch takes their NaN for a number
            told = values[values != 2.0**-127]
        if not told.size:
            return
        self.whole = bool((told == np.ceil(told)).all())
        size = np.abs(told)
        largest, smallest = float(size.max()), float(size.min())
        self.scientific = OPTIONS.sci_mode if OPTIONS.sci_mode is not None else (
            largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        )  # fmt: skip
        self.width = max(len(self._digits(value)) for value in told.tolist())

    def _digits(self, value: float) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if self.whole:
            return f"{value:.0f}." if isfinite(value) else f"{value:.0f}"
        return f"{value:.{OPTIONS.precision}f}"

    def write(self, value: Any) -> str:
        return self._digits(value).rjust(self.width)


class _ComplexNumbers:
    """The format of complex numbers: real and imaginary parts each have their own notation."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        values = values if values.dtype.kind == "c" else values.astype(np.complex64)
        self.real, self.imag = _Numbers(values.real), _Numbers(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def write(self, value: complex) -> str:
        imag = self.imag.write(value.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{self.real.write(value.real)}{sign}{imag}j"


def _edges(array: Any, shortened: tuple[bool, ...]) -> Any:
    """The part of an array that is printed: the ends of each shortened dimension."""
    edge = OPTIONS.edgeitems
    for axis, short in enumerate(shortened):
        if short:
            kept = [*range(edge), *range(array.shape[axis] - edge, array.shape[axis])]
            array = array[(slice(None),) * axis + (kept,)]
    return array


def _body(array: Any, indent: int, to_host: Callable[[Any], Any]) -> str:
    """The numbers of a non-empty array, in brackets. `indent` is the column of the first bracket."""
    edge = OPTIONS.edgeitems
    summarize = prod(array.shape) > OPTIONS.threshold
    if summarize and edge < 1 and array.shape:
        return "[...]"
    shortened = tuple(summarize and size > 2 * edge for size in array.shape)
    values = np.asarray(to_host(_edges(array, shortened)))
    powers = values.dtype == BY_NAME["float8_e8m0fnu"].numpy
    if values.dtype.kind not in "biufcW":
        values = values.astype(np.float64)  # bfloat16 and float8: exact
    elif values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
    numbers = _ComplexNumbers(values) if values.dtype.kind in "cW" else _Numbers(values, powers)

    def rows(part: Any, indent: int, depth: int) -> str:
        inner = values.ndim - depth
        if inner == 0:
            return numbers.write(part)
        if inner == 1:
            items = [numbers.write(value) for value in part]
        else:
            items = [rows(row, indent + 1, depth + 1) for row in part]
        if shortened[depth]:
            items[edge:edge] = [" ..." if inner == 1 else "..."]
        margin = "\n" * max(inner - 1, 1) + " " * (indent + 1)
        if inner > 1:
            return f"[{(',' + margin).join(items)}]"
        fit = max(1, (OPTIONS.linewidth - indent) // (numbers.width + 2))
        lines = [", ".join(items[start : start + fit]) for start in range(0, len(items), fit)]
        return f"[{(',' + margin).join(lines)}]"

    return rows(values.tolist(), indent, 0)


def _join(text: str, suffixes: list[str], indent: int, apart: bool = False) -> str:
    """Append `, name=value` parts, each on a new line if it does not fit. With `apart`, the first
    one always starts a new line.
    """
    used = len(text) - text.rfind("\n") + 1
    for k, suffix in enumerate(suffixes):
        if used + len(suffix) + 2 > OPTIONS.linewidth or apart and not k:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def _is_default(kind: dtype) -> bool:
    default = get_default_dtype()
    return kind in (default, complex128 if default is float64 else complex64, int64, bool_)


def tensor_str(
    array: Any,
    *,
    dtype: dtype | None = None,
    device: device = cpu,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    class_name: str = "Tensor",
    parameter: bool = False,
    tangent: str | None = None,
    contents: str | None = None,
    to_host: Callable[[Any], Any] = np.asarray,
) -> str:
    """The `repr` of a tensor.

    Args:
        array: its elements; on the meta device only `array.shape` is read.
        dtype: its type; that of the array when left out.
        grad_fn_name: name of the node that made it, `"AddBackward0"`.
        class_name: name of its class; `Tensor` and `Parameter` are printed as `tensor(...)`.
        parameter: whether it is an `nn.Parameter`.
        tangent: `str` of its tangent in forward mode.
        contents: text to show in place of the elements.
        to_host: brings the printed part of `array` to a NumPy array.

    Example:
        >>> print(tensor_str(np.float32([[1, 2.5], [3, 4]]), grad_fn_name="AddBackward0"))
        tensor([[1.0000, 2.5000],
                [3.0000, 4.0000]], grad_fn=<AddBackward0>)
    """
    plain = class_name in ("Tensor", "Parameter")
    kind = dtype if dtype is not None else from_numpy(array.dtype)
    shape = tuple(array.shape)
    prefix = "tensor(" if plain else f"{class_name}("
    empty, meta = 0 in shape, device.type == "meta"

    suffixes = [] if device.type == "cpu" else [f"device='{device}'"]
    if meta or (empty and len(shape) != 1) or (not empty and not OPTIONS.edgeitems):
        suffixes.append(f"size={shape}")
    # If no numbers are printed, int64 and bool are named as well, since nothing else shows the
    # type.
    if kind is not get_default_dtype() and (meta or empty or not _is_default(kind)):
        suffixes.append(f"dtype={kind}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name.rpartition('::')[2]}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")

    if contents is None:
        contents = "..." if meta else "[]" if empty else _body(array, len(prefix), to_host)
    text = _join(prefix + contents, suffixes, len(prefix))
    if parameter:
        text = f"Parameter containing:\n{text if plain else f'Parameter({text})'}"
    return text


def parts_str(
    parts: list[tuple[str, Any]],
    suffixes: list[str],
    dtype: dtype,
    *,
    class_name: str = "Tensor",
    new_line: bool = False,
    parameter: bool = False,
) -> str:
    """The `repr` of a tensor that is made of several arrays, each with its name: a sparse one.

    Args:
        parts: names and arrays. suffixes: what follows them; the first on a line of its own where
            `new_line` says so.
        dtype: the element type, named where it is not evident.

    Example:
        >>> print(parts_str([("indices", np.int64([[0, 1]])), ("values", np.float32([2, 3]))], ["size=(4,)"], get_default_dtype()))
        tensor(indices=tensor([[0, 1]]),
               values=tensor([2., 3.]), size=(4,))
    """
    prefix = "tensor(" if class_name in ("Tensor", "Parameter") else f"{class_name}("
    indent = len(prefix)
    lines = []
    for name, array in parts:
        head = f"{name}=tensor("
        body = (
            _body(array, indent + len(head), np.asarray)
            if array.size
            else f"[], size={tuple(array.shape)}"
        )
        lines.append(head + body + ")")
    text = prefix + (",\n" + " " * indent).join(lines)
    if not _is_default(dtype):
        suffixes = [*suffixes[:2], f"dtype={dtype}", *suffixes[2:]]
    text = _join(text, suffixes, indent, apart=new_line)
    return f"Parameter containing:\n{text}" if parameter else text
