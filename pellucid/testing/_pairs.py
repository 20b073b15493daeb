"""Pairs of values to compare: what `assert_close` is made of.

A comparison has two steps. `originate_pairs` walks both containers and makes one pair for each two
leaves, so that a difference in structure is reported before any value. Then the pairs compare.
"""

from __future__ import annotations

import abc
import cmath
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from .. import dtypes
from ..arrays.sparse.array import BY_ROWS, SparseArray
from ..core.modes import no_grad
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError

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
Identifier = str | Callable[[str], str] | None
Place = tuple[Any, ...]


class UnsupportedInputs(Exception):  # noqa: N818 (PyTorch's name)
    """A kind of pair is not for these values; the next one is tried."""


class ErrorMeta(Exception):  # noqa: N818 (PyTorch's name)
    """What is to be raised, before the place in the containers is known.

    Args:
        type: the class of the error.
        msg: its text.
        id: keys and numbers of items that lead to the values.
    """

    def __init__(self, type: type[Exception], msg: str, *, id: Place = ()) -> None:
        super().__init__(
            "If you are a user and see this message during normal operation please file an issue at "
            "https://github.com/pytorch/pytorch/issues. If you are a developer and working on the comparison functions, please "
            "`raise ErrorMeta.to_error()` for user facing errors."
        )
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: Identifier = None) -> Exception:
        """The error.

        Args:
            msg: its text instead, or a function of the text.
        """
        if isinstance(msg, str):
            return self.type(msg)
        text = self.msg
        if self.id:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.id)}"
        return self.type(text if msg is None else msg(text))


# ---- tolerances and texts ------------------------------------------------------------------------
def default_tolerances(
    *inputs: Any, dtype_precisions: dict[dtypes.dtype, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """The loosest tolerances (relative, absolute) of the dtypes of tensors.

    Args:
        dtype_precisions: those of each dtype. Default: `assert_close`'s.
    """
    kinds = []
    for one in inputs:
        if not isinstance(one, (Tensor, dtypes.dtype)):
            raise ArgumentTypeError(
                f"Expected a torch.Tensor or a torch.dtype, but got {type(one)} instead."
            )
        kinds.append(one.dtype if isinstance(one, Tensor) else one)
    known = [(dtype_precisions or _TOLERANCES).get(kind, (0.0, 0.0)) for kind in kinds]
    return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def get_tolerances(
    *inputs: Any, rtol: float | None, atol: float | None, id: Place = ()
) -> tuple[float, float]:
    """The tolerances that are given, or the default ones.

    Raises:
        ErrorMeta: one of them is given without the other.
    """
    if (rtol is None) != (atol is None):
        raise ErrorMeta(
            ValueError,
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}.",
            id=id,
        )
    if rtol is not None and atol is not None:
        return rtol, atol
    return default_tolerances(*inputs)


def _title(default: str, identifier: Identifier, rtol: float, atol: float) -> str:
    name = default if identifier is None else identifier
    name = name(default) if callable(name) else name
    return f"{name} are not {'equal' if rtol == atol == 0 else 'close'}!"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"


def make_scalar_mismatch_msg(
    actual: Any, expected: Any, *, rtol: float, atol: float, identifier: Identifier = None
) -> str:
    """The text for two numbers that differ.

    Args:
        identifier: what they are called. Default: "Scalars".
    """
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected != 0 else float("inf")
    return (
        f"{_title('Scalars', identifier, rtol, atol)}\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def make_tensor_mismatch_msg(
    actual: Tensor,
    expected: Tensor,
    matches: Tensor,
    *,
    rtol: float,
    atol: float,
    identifier: Identifier = None,
) -> str:
    """The text for two tensors that differ where `matches` is false.

    Args:
        identifier: what they are called. Default: "Tensor-likes".
    """
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
    return f"{_title('Tensor-likes', identifier, rtol, atol)}\n\n" + "\n".join(lines)


# ---- pairs ---------------------------------------------------------------------------------------
class Pair(abc.ABC):
    """Two values and how to compare them.

    Args:
        id: keys and numbers of items that lead to them.
        unknown_parameters: options of other kinds of pairs.

    Raises:
        UnsupportedInputs: this kind is not for these values.
    """

    def __init__(
        self, actual: Any, expected: Any, *, id: Place = (), **unknown_parameters: Any
    ) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> Any:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: Any) -> None:
        if not all(isinstance(one, cls) for one in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: Place = ()) -> Any:
        raise ErrorMeta(type, msg, id=self.id if not id and hasattr(self, "id") else id)

    @abc.abstractmethod
    def compare(self) -> None:
        """Raise an `ErrorMeta` where the values differ."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Names of attributes, and pairs of names and values, to show."""
        return []

    def __repr__(self) -> str:
        shown = [
            (name, getattr(self, name)) if isinstance(name, str) else name
            for name in ("id", "actual", "expected", *self.extra_repr())
        ]
        lines = "\n".join(f"    {name}={value}," for name, value in shown)
        return f"{type(self).__name__}(\n{lines}\n)"


class ObjectPair(Pair):
    """Anything, by `==`."""

    def compare(self) -> None:
        """Raise an `ErrorMeta` where the values differ."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            raise ErrorMeta(
                ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id
            ) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """None, and whatever stands in its place."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Raise an `ErrorMeta` where the values differ."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Booleans of Python's and NumPy's."""

    def __init__(self, actual: Any, expected: Any, *, id: Place, **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return bool, np.bool_

    def _process_inputs(self, actual: Any, expected: Any, *, id: Place) -> tuple[bool, bool]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return bool(actual), bool(expected)

    def compare(self) -> None:
        """Raise an `ErrorMeta` where the values differ."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Numbers of Python's and NumPy's, within tolerances.

    Args:
        rtol, atol, equal_nan: as for `assert_close`.
        check_dtype: must their classes be the same?
    """

    def __init__(
        self,
        actual: Any,
        expected: Any,
        *,
        id: Place = (),
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_dtype: bool = False,
        **other_parameters: Any,
    ) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        kinds = (_NUMBER_DTYPES.get(type(x), dtypes.int64) for x in (actual, expected))
        self.rtol, self.atol = get_tolerances(*kinds, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return Number, np.number

    def _process_inputs(self, actual: Any, expected: Any, *, id: Place) -> tuple[Any, Any]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: Place) -> Any:
        return number_like.item() if isinstance(number_like, np.generic) else number_like

    def compare(self) -> None:
        """Raise an `ErrorMeta` where the values differ."""
        actual, expected = self.actual, self.expected
        if self.check_dtype and type(actual) is not type(expected):
            self._fail(
                AssertionError,
                f"The (d)types do not match: {type(actual)} != {type(expected)}.",
            )
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        finite = cmath.isfinite(actual) and cmath.isfinite(expected)
        if finite and abs(actual - expected) <= self.atol + self.rtol * abs(expected):
            return
        self._fail(
            AssertionError,
            make_scalar_mismatch_msg(actual, expected, rtol=self.rtol, atol=self.atol),
        )

    def extra_repr(self) -> Sequence[str]:
        """Names of attributes to show."""
        return "rtol", "atol", "equal_nan", "check_dtype"


class TensorLikePair(Pair):
    """Tensors and arrays, within tolerances; the options are those of `assert_close`."""

    def __init__(
        self,
        actual: Any,
        expected: Any,
        *,
        id: Place = (),
        allow_subclasses: bool = True,
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_device: bool = True,
        check_dtype: bool = True,
        check_layout: bool = True,
        check_stride: bool = False,
        **other_parameters: Any,
    ) -> None:
        actual, expected = self._process_inputs(
            actual, expected, id=id, allow_subclasses=allow_subclasses
        )
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan = equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(
        self, actual: Any, expected: Any, *, id: Place, allow_subclasses: bool
    ) -> tuple[Tensor, Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not allow_subclasses and type(actual) is not type(expected):
            self._inputs_not_supported()
        return self._to_tensor(actual), self._to_tensor(expected)

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        if isinstance(tensor_like, Tensor):
            return tensor_like
        if not hasattr(tensor_like, "__array__"):
            self._inputs_not_supported()
        made: Tensor = FUNCTIONS["torch"]["as_tensor"](np.asarray(tensor_like))
        return made

    def compare(self) -> None:
        """Raise an `ErrorMeta` where the values differ."""
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        if actual.is_meta and expected.is_meta:
            return
        self._compare_values(*self._equalize_attributes(actual, expected))

    def _compare_attributes(self, actual: Tensor, expected: Tensor) -> None:
        """Shapes, and whatever else is asked for."""
        if actual.shape != expected.shape:
            self._differs("shape", actual.shape, expected.shape)
        if self.check_layout and actual.layout != expected.layout:
            self._differs("layout", actual.layout, expected.layout)
        if self.check_device and actual.device != expected.device:
            self._differs("device", actual.device, expected.device)
        if self.check_dtype and actual.dtype != expected.dtype:
            self._differs("dtype", actual.dtype, expected.dtype)
        if self.check_stride and actual.stride() != expected.stride():
            self._differs("stride()", actual.stride(), expected.stride())

    def _differs(self, name: str, actual: Any, expected: Any) -> None:
        self._fail(
            AssertionError,
            f"The values for attribute {name!r} do not match: {actual} != {expected}.",
        )

    def _equalize_attributes(self, actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
        """Both with one layout and one dtype."""
        if actual.layout != expected.layout:
            actual, expected = actual.to_dense(), expected.to_dense()
        if actual.dtype != expected.dtype:
            # wide unsigned integers, which promote with no others, are compared as int64
            kinds = [
                dtypes.int64 if t.dtype.is_wide_unsigned else t.dtype for t in (actual, expected)
            ]
            common = dtypes.promote_types(*kinds)
            actual, expected = actual.to(common), expected.to(common)
        return actual, expected

    def _compare_values(self, actual: Tensor, expected: Tensor) -> None:
        if actual.layout is not dtypes.strided and type(actual._array) is SparseArray:
            self._compare_sparse_values(actual, expected)
        else:
            self._compare_regular_values_close(
                actual, expected, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan
            )

    def _compare_sparse_values(self, actual: Any, expected: Any) -> None:
        """The places of two sparse tensors, which must be equal, and then their values."""
        a, b = actual._array.coalesce(), expected._array.coalesce()
        kind = a.layout.upper()
        if a.nnz != b.nnz:
            self._fail(
                AssertionError,
                f"The number of specified values in sparse {kind} tensors does not match: {a.nnz} != {b.nnz}",
            )
        first, second = (
            ("crow_indices", "col_indices")
            if a.layout in BY_ROWS
            else ("ccol_indices", "row_indices")
        )
        parts = [("indices" if a.layout == "coo" else first, a.indices, b.indices)]
        if a.plain is not None:
            parts.append((second, a.plain, b.plain))
        for name, x, y in [*parts, ("values", a.values, b.values)]:
            exact = name != "values"
            self._compare_regular_values_close(
                make_tensor(x),
                make_tensor(y),
                rtol=0.0 if exact else self.rtol,
                atol=0.0 if exact else self.atol,
                equal_nan=self.equal_nan,
                identifier=f"Sparse {kind} {name}",
            )

    def _compare_regular_values_close(
        self,
        actual: Tensor,
        expected: Tensor,
        *,
        rtol: float,
        atol: float,
        equal_nan: bool,
        identifier: Identifier = None,
    ) -> None:
        if actual.dtype.itemsize == 1 and actual.dtype.is_floating_point:
            # eight-bit floats do not compute
            actual, expected = actual.to(dtypes.float32), expected.to(dtypes.float32)
        matches = FUNCTIONS["torch"]["isclose"](
            actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan
        )
        if matches.all().item():
            return
        if actual.dim() == 0:
            text = make_scalar_mismatch_msg(
                actual.item(), expected.item(), rtol=rtol, atol=atol, identifier=identifier
            )
        else:
            text = make_tensor_mismatch_msg(
                actual, expected, matches, rtol=rtol, atol=atol, identifier=identifier
            )
        self._fail(AssertionError, text)

    def extra_repr(self) -> Sequence[str]:
        """Names of attributes to show."""
        return (
            "rtol",
            "atol",
            "equal_nan",
            "check_device",
            "check_dtype",
            "check_layout",
            "check_stride",
        )


# ---- containers ----------------------------------------------------------------------------------
def originate_pairs(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]],
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    id: Place = (),
    **options: Any,
) -> list[Pair]:
    """The pairs of two values, of two containers those of their items.

    Args:
        pair_types: the kinds of pairs, of which the first that takes the values is used.
        sequence_types, mapping_types: which classes are containers.
        options: what pairs are made with.

    Raises:
        ErrorMeta: the containers are built otherwise, or no kind takes two values.
    """
    walk: dict[str, Any] = {
        "pair_types": pair_types,
        "sequence_types": sequence_types,
        "mapping_types": mapping_types,
        **options,
    }
    texts = isinstance(actual, str) or isinstance(expected, str)
    if _both(actual, expected, sequence_types) and not texts:
        if len(actual) != len(expected):
            raise ErrorMeta(
                AssertionError,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
                id=id,
            )
        keys: Any = range(len(actual))
    elif _both(actual, expected, mapping_types):
        missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or extra:
            raise ErrorMeta(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_ordered(missing)}\n"
                f"Additional keys in the actual mapping: {_ordered(extra)}",
                id=id,
            )
        keys = _ordered(actual)
    else:
        for kind in pair_types:
            try:
                return [kind(actual, expected, id=id, **options)]
            except UnsupportedInputs:
                continue
        raise ErrorMeta(
            TypeError,
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            id=id,
        )
    return [
        pair
        for key in keys
        for pair in originate_pairs(actual[key], expected[key], id=(*id, key), **walk)
    ]


def _both(actual: Any, expected: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(actual, kinds) and isinstance(expected, kinds)


def _ordered(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # keys of several types
        return list(keys)


def not_close_error_metas(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    **options: Any,
) -> list[ErrorMeta]:
    """What differs, one `ErrorMeta` for each pair; the arguments are those of `originate_pairs`."""
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=pair_types,
            sequence_types=sequence_types,
            mapping_types=mapping_types,
            **options,
        )
    except ErrorMeta as error:
        raise error.to_error() from None
    found = []
    with no_grad():
        for pair in pairs:
            try:
                pair.compare()
            except ErrorMeta as error:
                found.append(error)
    return found
