"""Arrays of quantized numbers: integers with a scale and a zero point, the storage of quantized
tensors.

A number q stands for (q - zero_point) * scale. Both are of the whole array, or of each slice along
an axis. Everything here is NumPy and knows no tensors.

    >>> a = quantize(np.float32([0.0, 0.26, 99.0]), "quint8", Scheme.of(0.1, 10))
    >>> a.ints.tolist(), dequantize(a).tolist()
    ([10, 13, 255], [0.0, 0.30000001192092896, 24.5])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ..devices import Named, _named
from ..dtypes import BY_NUMPY, NAMED_ONLY
from ..errors import OperationError, UnsupportedError
from ..kernels.quantized import products
from .meta import Described

# A function that loads the package of quantized tensors when it is first needed; set by the root
# package.
LENT: list[Callable[[], Any]] = []


def package() -> Any:
    """`pellucid.quantized`. It is in a higher layer than its users here, hence the indirection."""
    return LENT[0]()


def _refused(name: str, backend: str) -> Exception:
    return UnsupportedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be because the operator doesn't exist for "
        "this backend, or was omitted during the selective/custom build process (if using custom build).",
        hint="dequantize() gives a tensor that every operation takes",
    )


def refusal(name: str) -> Exception:
    """PyTorch's error for an operation that quantized tensors do not have."""
    return _refused(name, "QuantizedCPU")


def only_quantized(name: str) -> Exception:
    """PyTorch's error for an operation that quantized tensors alone have."""
    return _refused(name, "CPU")


@final
class qscheme(Named):  # noqa: N801
    """How integers stand for numbers in a quantized tensor: per tensor or per channel, affine or symmetric.

    >>> import pellucid as torch
    >>> torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).qscheme()
    torch.per_tensor_affine
    """

    __slots__ = ()
    __module__ = "pellucid"


_NAMES = (
    "per_tensor_affine",
    "per_channel_affine",
    "per_tensor_symmetric",
    "per_channel_symmetric",
    "per_channel_affine_float_qparams",
)
SCHEMES: dict[str, qscheme] = {name: _named(qscheme, name) for name in _NAMES}
PER_TENSOR, PER_CHANNEL, FLOAT_PARAMETERS = (
    SCHEMES[name]
    for name in ("per_tensor_affine", "per_channel_affine", "per_channel_affine_float_qparams")
)

# Element types by name: the dtype of the stored integers, and the dtype that `QuantizedArray`
# reports. The latter is a structured dtype, so that no code mistakes quantized numbers for plain
# integers.
STORED: dict[str, np.dtype[Any]] = {
    "quint8": np.dtype(np.uint8),
    "qint8": np.dtype(np.int8),
    "qint32": np.dtype(np.int32),
}
DESCRIBED: dict[str, np.dtype[Any]] = {
    name: np.dtype([(name, stored)]) for name, stored in STORED.items()
}
BY_NUMPY |= {described: NAMED_ONLY[name] for name, described in DESCRIBED.items()}
LIMITS = {
    name: (int(np.iinfo(stored).min), int(np.iinfo(stored).max)) for name, stored in STORED.items()
}


def held(kind: Any) -> np.dtype[Any]:
    """The NumPy dtype of the elements in a storage: for quantized types, the integers."""
    return STORED.get(kind.name) or kind.numpy


class Scheme:
    """The scale and the zero point of a tensor, or of each slice along `axis`."""

    __slots__ = ("axis", "kind", "scale", "zero_point")

    def __init__(self, kind: qscheme, scale: Any, zero_point: Any, axis: int = 0) -> None:
        self.kind, self.scale, self.zero_point, self.axis = kind, scale, zero_point, axis

    @staticmethod
    def of(scale: float, zero_point: int) -> Scheme:
        """A scheme with one scale and one zero point."""
        return Scheme(PER_TENSOR, float(scale), int(zero_point))

    @property
    def per_tensor(self) -> bool:
        return self.kind is PER_TENSOR

    def parts(self, ndim: int) -> tuple[Any, Any]:
        """Scale (float32) and zero point, in a shape that broadcasts with arrays of `ndim`
        dimensions.
        """
        if self.per_tensor:
            return np.float32(self.scale), self.zero_point
        shape = [1] * ndim
        shape[self.axis] = -1
        return np.float32(self.scale).reshape(shape), self.zero_point.reshape(shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Scheme)
            and self.kind is other.kind
            and self.axis == other.axis
            and bool(
                np.array_equal(self.scale, other.scale)
                and np.array_equal(self.zero_point, other.zero_point)
            )
        )

    __hash__ = object.__hash__


SMALLEST_SCALE = float(np.float32(6.1e-5))
_READ_ONLY = np.empty(0)
_READ_ONLY.setflags(write=False)


class QuantizedArray(Described):
    """Integers with their scheme. Slots: `ints` (an ordinary array, possibly a view), `name` of the
    type, `scheme`.
    """

    device = "cpu"
    base = None
    flags = _READ_ONLY.flags
    __slots__ = ("ints", "name", "scheme")

    def __init__(self, ints: Any, name: str, scheme: Scheme) -> None:
        self.ints, self.name, self.scheme = ints, name, scheme

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.ints.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.ints.strides

    @property
    def dtype(self) -> Any:
        return DESCRIBED[self.name]

    @property
    def itemsize(self) -> int:
        return self.ints.itemsize

    @property
    def nbytes(self) -> int:
        return self.ints.nbytes

    def like(self, ints: Any) -> QuantizedArray:
        """An array of other integers with the same type and scheme."""
        return QuantizedArray(ints, self.name, self.scheme)

    def copy(self, order: str = "K") -> QuantizedArray:
        return self.like(self.ints.copy(order))

    def tensor(self) -> Any:
        """A quantized tensor with this storage."""
        return package().wrapped(self)

    def __repr__(self) -> str:
        return f"QuantizedArray({self.name}, {self.shape}, {self.scheme.kind})"

    # ---- refusals ----------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "xp":
            raise AttributeError(name)
        raise refusal(name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise refusal("dequantize")

    def __array_function__(self, *args: Any, **kwargs: Any) -> Any:
        raise refusal(getattr(args[0], "__name__", "apply"))

    def __array_ufunc__(self, ufunc: Any, how: str, *args: Any, **kwargs: Any) -> Any:
        raise refusal(ufunc.__name__)


# ---- arithmetic --------------------------------------------------------------------------------
def quantize(values: Any, name: str, scheme: Scheme) -> QuantizedArray:
    """Quantize float32 numbers: round(values * (1 / scale) + zero_point), clamped to the type's
    limits, with halves rounded to even.

    The result near a half depends on which intermediate results are rounded. As in PyTorch, the
    reciprocal always is. For per-channel schemes and 32 bits, the product is rounded as well, and
    NaN becomes the lowest integer. Otherwise product and sum are one operation, and NaN becomes the
    highest integer.
    """
    low, high = LIMITS[name]
    scale, zero_point = scheme.parts(values.ndim)
    with np.errstate(all="ignore"):
        inverse = np.float32(1.0) / scale
        if values.ndim == 0:
            return QuantizedArray(
                quantize(values.reshape(1), name, scheme).ints.reshape(()), name, scheme
            )
        if scheme.per_tensor and name != "qint32":
            native = products.quantized(values, STORED[name], inverse, zero_point)
            if native is not None:
                return QuantizedArray(native, name, scheme)
            wide = np.multiply(values, np.float64(inverse), dtype=np.float64)
            wide += zero_point
            made = np.rint(wide.astype(np.float32))
            made = np.fmax(np.fmin(made, np.float32(high)), np.float32(low))
        else:
            made = np.multiply(values, inverse)
            made = np.rint(made + np.asarray(zero_point, np.float32)).astype(np.float64)
            made = np.fmin(np.fmax(made, low), high)
    return QuantizedArray(np.asarray(made).astype(STORED[name]), name, scheme)


def dequantize(a: QuantizedArray) -> Any:
    """The real numbers in float32, with the strides of the integers."""
    scale, zero_point = a.scheme.parts(a.ndim)
    if a.scheme.kind is FLOAT_PARAMETERS:
        return (a.ints.astype(np.float32) - zero_point.astype(np.float32)) * scale
    if a.name == "qint32":
        return np.subtract(a.ints, zero_point, dtype=np.int64).astype(np.float32) * scale
    if (
        a.scheme.per_tensor
        and (native := products.dequantized(a.ints, scale, zero_point)) is not None
    ):
        return native
    made = np.asarray(a.ints.astype(np.float32))
    made -= np.float32(zero_point)
    made *= scale
    return made


def choose(low: float, high: float, name: str, reduce_range: bool = False) -> tuple[float, int]:
    """The scale and the zero point with which the integers of a type cover low..high and represent
    zero exactly.

    With `reduce_range` they are half of the integers. Source: Jacob et al., "Quantization and
    Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference" (2018), section 2.
    """
    smallest, largest = LIMITS[name]
    return choose_between(
        low, high, *((int(smallest / 2), largest // 2) if reduce_range else (smallest, largest))
    )


def choose_between(
    low: float, high: float, smallest: int, largest: int, symmetric: bool = False
) -> tuple[float, int]:
    """As `choose`, for integers from `smallest` to `largest`. If `symmetric`, and there are values
    of both signs, zero is in the middle of the integers.
    """
    low, high = np.float32(low), np.float32(high)
    steps, symmetric = largest - smallest, symmetric and bool(low < 0 < high)
    if symmetric:
        half = steps // 2
        widest = max(abs(float(low) / -(half + 1)), abs(float(high) / half))
        low, high = np.float32(widest * -(half + 1)), np.float32(widest * half)
    low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
    scale = (float(high) - float(low)) / steps
    with np.errstate(all="ignore"):
        if np.float32(scale) == 0 or np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
    if scale < SMALLEST_SCALE:
        # Enlarge the range so that the reciprocal of the scale is finite in float32.
        more, scale = SMALLEST_SCALE / scale, SMALLEST_SCALE
        if low == 0:
            high = np.float32(scale * steps)
        elif high == 0:
            low = np.float32(-scale * steps)
        else:
            low, high = np.float32(low * np.float32(more)), np.float32(high * np.float32(more))
    from_low, from_high = smallest - float(low) / scale, largest - float(high) / scale
    low_first = abs(smallest) - abs(float(low) / scale) < abs(largest) - abs(float(high) / scale)
    zero = (smallest + largest) / 2 if symmetric else from_low if low_first else from_high
    return scale, int(np.rint(min(max(zero, smallest), largest)))


def require_per_tensor(a: QuantizedArray) -> Scheme:
    """The array's scheme, or PyTorch's error if the scheme is per channel."""
    if not a.scheme.per_tensor:
        raise OperationError(
            "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    return a.scheme
