"""Helpers about dtypes, shapes and strides (`torch._prims_common`), which libraries import."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from . import dtypes as _d
from . import shapes
from ._checks import _check, _check_not_implemented, _check_with
from .api.symbols import SymBool, SymFloat, SymInt
from .core.public import FUNCTIONS
from .core.tensor import Tensor
from .errors import warn

TensorLike = TensorLikeType = Tensor
Number = (bool, int, float, complex, SymInt, SymFloat, SymBool)
IntLike = (int, SymInt)
FloatLike = (float, SymFloat)
BoolLike = (bool, SymBool)
Dim = int
NumberType = RealNumberType = bool | int | float
NumberTypeType = type
TensorSequenceType = list[Tensor] | tuple[Tensor, ...]
TensorOrNumberLikeType = Tensor | NumberType
DeviceLikeType = str | _d.device | int
ShapeType = StrideType = DimsType = DimsSequenceType = Sequence

_TYPES = (bool, int, float, complex)
_SYMBOLS: dict[Any, type] = {SymInt: int, SymFloat: float, SymBool: bool}
# Each row is above those before it; two dtypes of one row meet in the next.
_ROWS: tuple[tuple[_d.dtype, ...], ...] = (
    (_d.bool_,),
    (_d.uint8, _d.int8),
    (_d.int16,),
    (_d.int32,),
    (_d.int64,),
    (_d.float16, _d.bfloat16),
    (_d.float32,),
    (_d.float64,),
    (_d.complex32,),
    (_d.complex64,),
    (_d.complex128,),
)
_COMPLEX = {d: d.to_complex() for row in _ROWS for d in row if d.is_floating_point}
_REAL = {d: d.to_real() for row in _ROWS for d in row if d.is_complex}
_COMPUTED = {_d.float16: _d.float32, _d.bfloat16: _d.float32, _d.complex32: _d.complex64}
_SUMMED = {
    _d.float16: _d.float64,
    _d.bfloat16: _d.float64,
    _d.float32: _d.float64,
    _d.complex32: _d.complex128,
    _d.complex64: _d.complex128,
}


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):  # noqa: N801 (PyTorch's name)
    """What becomes of the common dtype of an element-wise operation's arguments."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(Enum):  # noqa: N801 (PyTorch's name)
    """What becomes of the dtype that a reduction computes with."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


class RETURN_TYPE(Enum):  # noqa: N801 (PyTorch's name)
    """Whether an operation gives a new tensor, a view, its argument or nothing."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)


# ---- dtypes ----------------------------------------------------------------------------------
def _is(value: Any, kind: Any, words: str) -> None:
    if not isinstance(value, kind):
        raise AssertionError(f"Expected {words}, got {type(value)}")


def is_boolean_dtype(dtype: _d.dtype) -> bool:
    """Whether it is torch.bool."""
    _is(dtype, _d.dtype, "torch.dtype")
    return dtype is _d.bool_


def is_integer_dtype(dtype: _d.dtype) -> bool:
    """Whether its elements are whole numbers; torch.bool's are not."""
    _is(dtype, _d.dtype, "torch.dtype")
    return dtype.is_integral and dtype is not _d.bool_


def is_float_dtype(dtype: _d.dtype) -> bool:
    """Whether its elements are real numbers with fractions."""
    _is(dtype, _d.dtype, "torch.dtype")
    return dtype.is_floating_point


def is_complex_dtype(dtype: _d.dtype) -> bool:
    """Whether its elements are complex numbers."""
    _is(dtype, _d.dtype, "torch.dtype")
    return dtype.is_complex


def is_low_precision_dtype(dtype: _d.dtype) -> bool:
    """Whether operations compute in a larger dtype."""
    _is(dtype, _d.dtype, "torch.dtype")
    return dtype in _COMPUTED


def is_grad_dtype(dtype: _d.dtype) -> bool:
    """Whether tensors of it can have gradients."""
    return is_float_dtype(dtype) or is_complex_dtype(dtype)


def corresponding_real_dtype(dtype: _d.dtype) -> _d.dtype:
    """The dtype of the parts of complex numbers."""
    return _REAL[dtype]


def corresponding_complex_dtype(dtype: _d.dtype) -> _d.dtype:
    """The dtype of complex numbers with such parts."""
    return _COMPLEX[dtype]


def get_computation_dtype(dtype: _d.dtype) -> _d.dtype:
    """The dtype that element-wise operations compute in."""
    return _COMPUTED.get(dtype, dtype)


def get_acc_type(dtype: _d.dtype, device: Any) -> _d.dtype:
    """The dtype that sums are kept in."""
    return _SUMMED.get(dtype, dtype) if device.type == "cpu" else get_computation_dtype(dtype)


def dtype_to_type(dtype: _d.dtype) -> type:
    """Python's type for the elements: bool, int, float or complex."""
    _is(dtype, _d.dtype, "torch.dtype")
    if dtype is _d.bool_:
        return bool
    if dtype.is_complex or dtype.is_floating_point:
        return complex if dtype.is_complex else float
    if dtype.is_integral:
        return int
    raise ValueError("Invalid dtype!")


def dtype_to_type_ctor(dtype: _d.dtype) -> Callable[[Any], Any]:
    """What makes a number of `dtype_to_type`."""
    made = {int: FUNCTIONS["torch"]["sym_int"], float: FUNCTIONS["torch"]["sym_float"]}
    kind: Any = dtype_to_type(dtype)
    return made.get(kind, kind)


def type_to_dtype(typ: type) -> _d.dtype:
    """The dtype that tensors of such numbers have."""
    _is(typ, type, "type")
    default = _d.get_default_dtype()
    found = {bool: _d.bool_, int: _d.int64, float: default, complex: _COMPLEX.get(default)}
    made = found.get(_plain(typ))
    if made is None:
        raise ValueError(f"Invalid type {typ}!")
    return made


def get_dtype(x: Any) -> _d.dtype:
    """The dtype of a tensor or a number."""
    return x.dtype if isinstance(x, Tensor) else type_to_dtype(type(x))


def number_type(x: Any) -> type:
    """Python's type of a number, also of a symbolic one."""
    return _plain(type(x))


def _plain(kind: type) -> type:
    return next((plain for symbol, plain in _SYMBOLS.items() if issubclass(kind, symbol)), kind)


def _place(kind: type, other: type) -> int:
    a, b = _plain(kind), _plain(other)
    if a not in _TYPES or b not in _TYPES:
        raise RuntimeError(f"Expected builtin numeric types, found {a}, {b}")
    return _TYPES.index(a)


def get_higher_type(a: type, b: type) -> type:
    """The later one in the order bool, int, float, complex."""
    return _TYPES[max(_place(a, b), _place(b, a))]


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether `a` is not after `b` in the order bool, int, float, complex."""
    return _place(a, b) <= _place(b, a)


def get_higher_dtype(a: Any, b: Any) -> _d.dtype | None:
    """The lowest dtype that is not below those of two tensors, numbers or dtypes."""
    found = []
    for name, value in (("a", a), ("b", b)):
        if value is not None and not isinstance(value, (_d.dtype, Tensor, *Number)):
            raise AssertionError(
                f"{name} must be None, torch.dtype, TensorLike, or Number, got {type(value)}"
            )
        found.append(value if value is None or isinstance(value, _d.dtype) else get_dtype(value))
    first, second = found
    if first is second or first is None or second is None:
        return second if first is None else first
    one, other = (
        next((i for i, row in enumerate(_ROWS) if d in row), len(_ROWS)) for d in (first, second)
    )
    if one == other:
        if one + 1 >= len(_ROWS):
            raise RuntimeError("Unexpected termination!")
        return _ROWS[one + 1][0]
    return first if one > other else second


def can_safe_cast_to(*, cast_to: _d.dtype, cast_from: _d.dtype) -> bool:
    """Whether the kind of number stays or becomes a wider one."""
    return is_weakly_lesser_type(dtype_to_type(cast_from), dtype_to_type(cast_to))


def elementwise_dtypes(
    *_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[_d.dtype, _d.dtype]:
    """The dtype that an element-wise operation computes in, and that of its result.

    >>> import pellucid as torch
    >>> kinds = torch._prims_common.ELEMENTWISE_TYPE_PROMOTION_KIND
    >>> elementwise_dtypes(torch.ones(2).half(), 2.0, type_promotion_kind=kinds.DEFAULT)
    (torch.float32, torch.float16)
    """
    args = [x for x in _args if x is not None]
    highest: type = bool
    for x in args:
        if isinstance(x, Tensor):
            highest = get_higher_type(highest, dtype_to_type(x.dtype))
        elif isinstance(x, Number):
            highest = get_higher_type(highest, type(x))
        else:
            raise ValueError(
                f"Unexpected type {type(x)} when computing elementwise type promotion!"
            )
    result = _highest_among(args, highest)
    kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    if type_promotion_kind is kinds.NO_OPMATH:
        return result, result
    if type_promotion_kind is kinds.INT_TO_FLOAT and result.is_integral:
        result = _d.get_default_dtype()
    if type_promotion_kind is kinds.BOOL_TO_LONG and result is _d.bool_:
        return _d.int64, _d.int64
    computed = get_computation_dtype(result)
    if type_promotion_kind is kinds.COMPLEX_TO_FLOAT:
        result = _REAL.get(result, result)
    if type_promotion_kind is kinds.ALWAYS_BOOL:
        result = _d.bool_
    return computed, result


def _highest_among(args: Sequence[Any], kind: type) -> _d.dtype:
    """The highest dtype of a kind, among tensors with dimensions before others."""
    if kind is bool:
        return _d.bool_
    points: Any = None
    others: Any = None
    for x in args:
        if not isinstance(x, Tensor):
            continue
        own: Any = x.dtype
        if kind is complex and own.is_floating_point:
            own = _COMPLEX[own]
        if dtype_to_type(own) is not kind:
            continue
        if x.ndim:
            others = get_higher_dtype(others, own)
        else:
            points = get_higher_dtype(points, own)
    return others or points or type_to_dtype(kind)


def reduction_dtypes(
    arg: Any, output_dtype_kind: REDUCTION_OUTPUT_TYPE_KIND, dtype: _d.dtype | None = None
) -> tuple[_d.dtype, _d.dtype | None]:
    """The dtype that a reduction computes in, and that of its result; None where it is kept."""
    result: Any = arg.dtype if dtype is None else dtype
    computed = get_computation_dtype(result)
    kinds = REDUCTION_OUTPUT_TYPE_KIND
    if output_dtype_kind is kinds.COMPLEX_TO_FLOAT:
        return computed, _REAL.get(result, result)
    kept = {kinds.SAME: result, kinds.KEEP_PROMOTED_TYPE: None, kinds.ALWAYS_BOOL: _d.bool_}
    return computed, kept[output_dtype_kind]


# ---- shapes ----------------------------------------------------------------------------------
def prod(xs: Sequence[Any]) -> Any:
    """The product of numbers; 1 for none."""
    return math.prod(xs)


def same_shape(a: Sequence[int], b: Sequence[int], *, allow_rhs_unbacked: bool = False) -> bool:
    """Whether two shapes are equal."""
    return tuple(a) == tuple(b)


is_same_shape = same_shape


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """The dimension counted from the front; a tensor without dimensions has one, if
    `wrap_scalar`.
    """
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    return shapes.normalize_dim(idx, rank, scalar_is_vector=wrap_scalar)


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """`canonicalize_dim` of one dimension or of several."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, idx, wrap_scalar) for idx in indices)


def is_valid_permutation(rank: int, perm: Sequence[int]) -> bool:
    """Whether each of the dimensions is in it once."""
    return isinstance(perm, Sequence) and sorted(perm) == list(range(rank))


def apply_perm(inp: Sequence[Any], perm: Sequence[int]) -> list[Any]:
    """The items in the order of a permutation."""
    return [inp[place] for place in perm]


def invert_perm(perm: Sequence[int]) -> list[int]:
    """The permutation that undoes another."""
    return sorted(range(len(perm)), key=perm.__getitem__)


def validate_dim_length(length: int) -> None:
    """Refuse a negative size."""
    _check(length >= 0)


def validate_shape(shape: Sequence[int]) -> None:
    """Refuse what is not a sequence of sizes."""
    if not isinstance(shape, Sequence):
        raise AssertionError(f"shape must be a Sequence, got {type(shape)}")
    for length in shape:
        validate_dim_length(length)


def validate_strides(strides: Sequence[int]) -> None:
    """Refuse what is not a sequence of strides."""
    if not isinstance(strides, Sequence):
        raise AssertionError(f"strides must be a Sequence, got {type(strides)}")
    for stride in strides:
        if stride < 0:
            raise AssertionError(f"stride must be non-negative, got {stride}")


def validate_no_repeating_dims(dims: Sequence[int]) -> None:
    """Refuse a dimension that is named twice."""
    if len(dims) != len(set(dims)):
        raise RuntimeError("duplicate value in the list of dims")


def reduction_dims(shape: Sequence[int], dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions that a reduction goes over: all, where none are named."""
    if dims is None:
        return tuple(range(len(shape)))
    found = tuple(canonicalize_dim(len(shape), dim) for dim in dims)
    validate_no_repeating_dims(found)
    return found


def compute_reduction_output_shape(
    shape: Sequence[int], dimensions: Sequence[int]
) -> tuple[int, ...]:
    """The sizes without those of some dimensions."""
    for dim in dimensions:
        if not 0 <= dim < max(len(shape), 1):
            raise AssertionError(f"idx {dim} is out of bounds for rank {len(shape)}")
    return tuple(size for dim, size in enumerate(shape) if dim not in dimensions)


def extract_dims_from_varargs(dims: Any) -> Any:
    """The dimensions of `f(1, 2)` and of `f((1, 2))`."""
    if dims and isinstance(dims[0], Sequence):
        if len(dims) != 1:
            raise AssertionError(
                f"Expected exactly 1 element in dims when first element is a Sequence, got {len(dims)}"
            )
        return dims[0]
    return dims


def extract_shape_from_varargs(shape: Any, validate: bool = True) -> Any:
    """The sizes of `f(2, 3)` and of `f((2, 3))`."""
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]
    if validate:
        validate_shape(shape)
    return shape


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """The shape with its size of -1 filled in."""
    sizes = tuple(shape)
    _check(sizes.count(-1) <= 1, "only one dimension can be inferred")
    for size in sizes:
        _check(
            size >= -1,
            f"invalid shape dimension {size}. If this was symbolic, it was assumed to not be -1."
            "If this was meant to be inferred, please explicitly pass in -1.",
        )
    return shapes.infer_size(sizes, numel)


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Whether `expand` makes one shape of the other."""
    return len(shape) <= len(desired) and all(
        size in (1, wanted)
        for size, wanted in zip(reversed(shape), reversed(desired), strict=False)
    )


# ---- strides ---------------------------------------------------------------------------------
def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor; not `row_major`, of a batch of matrices whose columns are.

    >>> make_contiguous_strides_for((2, 3, 4)), make_contiguous_strides_for((2, 3, 4), False)
    ((12, 4, 1), (12, 1, 3))
    """
    validate_shape(shape)
    strides = shapes.contiguous_strides(shape)
    if row_major or len(shape) < 2:
        return strides
    return (*strides[:-2], 1, max(shape[-2], 1))


def _channels_last(rank: int, name: str) -> Callable[[Sequence[int]], tuple[int, ...]]:
    def strides(shape: Sequence[int]) -> tuple[int, ...]:
        _check(
            len(shape) == rank,
            f"Only tensors of rank {rank} can use the {name} memory format",
        )
        return shapes.strides_by_channels(shape)

    return strides


make_channels_last_1d_strides_for = _channels_last(3, "channels_last_1d")
make_channels_last_2d_strides_for = _channels_last(4, "channels_last")
make_channels_last_3d_strides_for = _channels_last(5, "channels_last_3d")


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of three to five dimensions whose channels are next to each other."""
    made = {
        3: make_channels_last_1d_strides_for,
        4: make_channels_last_2d_strides_for,
        5: make_channels_last_3d_strides_for,
    }.get(len(shape))
    if made is None:
        raise RuntimeError(f"no channels last format strides exist in {len(shape)} dimensions")
    return made(shape)


def check_contiguous_sizes_strides(
    sizes: Sequence[int], strides: Sequence[int], false_if_dde: bool = False
) -> bool:
    """Whether the strides are those of a contiguous tensor, apart from dimensions of size 1."""
    step = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1:
            continue
        if stride != step:
            return False
        step *= max(size, 1)
    return True


def is_contiguous(a: Tensor, false_if_dde: bool = False) -> bool:
    """Whether the elements are in memory in the order of their indices."""
    return a.numel() < 2 or check_contiguous_sizes_strides(a.shape, a.stride())


def is_channels_last_contiguous_2d(a: Tensor, false_if_dde: bool = False) -> bool:
    """Whether a tensor of four dimensions is dense with its channels next to each other."""
    return a.ndim == 4 and _in_order(a, (1, 3, 2, 0))


def is_channels_last_contiguous_3d(a: Tensor, false_if_dde: bool = False) -> bool:
    """Whether a tensor of five dimensions is dense with its channels next to each other."""
    return a.ndim == 5 and _in_order(a, (1, 4, 3, 2, 0))


def _in_order(a: Tensor, order: Sequence[int]) -> bool:
    nearest_last = order[::-1]
    return check_contiguous_sizes_strides(
        apply_perm(a.shape, nearest_last), apply_perm(a.stride(), nearest_last)
    )


def is_channels_last_contiguous(a: Tensor) -> bool:
    """Whether the channels of a tensor of four or five dimensions are next to each other."""
    return is_channels_last_contiguous_2d(a) or is_channels_last_contiguous_3d(a)


def validate_memory_format(memory_format: Any) -> None:
    """Refuse what is not a memory format."""
    _check(
        isinstance(memory_format, _d.memory_format),
        f"Received unknown memory format {memory_format}!",
    )


def is_contiguous_for_memory_format(
    a: Tensor, *, memory_format: Any, false_if_dde: bool = False
) -> bool:
    """Whether the elements are in memory in the order that a format says."""
    validate_memory_format(memory_format)
    asked = {
        _d.contiguous_format: is_contiguous,
        _d.channels_last: is_channels_last_contiguous_2d,
        _d.channels_last_3d: is_channels_last_contiguous_3d,
    }.get(memory_format)
    _check(asked is not None, f"is_contiguous received unsupported memory format {memory_format}")
    return asked(a)  # type: ignore[misc]


# sizes are always known here, so that none of these has to give up
is_contiguous_or_false = is_contiguous
is_channels_last_contiguous_or_false_2d = is_channels_last_contiguous_2d
is_channels_last_contiguous_or_false_3d = is_channels_last_contiguous_3d
is_channels_last_contiguous_or_false = is_channels_last_contiguous
is_contiguous_for_memory_format_or_false = is_contiguous_for_memory_format


def is_non_overlapping_and_dense_or_false(a: Tensor) -> bool:
    """Whether some order of the dimensions makes the tensor contiguous."""
    if a.layout is not _d.strided:
        return False
    if a.numel() < 2:
        return True
    sizes, strides = a.shape, a.stride()
    order = sorted(range(a.ndim), key=lambda dim: (strides[dim], sizes[dim]))
    return _in_order(a, order)


is_non_overlapping_and_dense = is_non_overlapping_and_dense_or_false


def compute_required_storage_length(
    shape: Sequence[int], strides: Sequence[int], storage_offset: int
) -> int:
    """How many elements a storage must have to hold such a tensor."""
    if 0 in shape:
        return 0
    last = sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    return 1 + storage_offset + last


def check_in_bounds_for_storage(
    a: Any, shape: Sequence[int], strides: Sequence[int], storage_offset: int
) -> None:
    """Refuse a view that reaches past a storage's end."""
    needed = compute_required_storage_length(shape, strides, storage_offset)
    if a.size() < needed:
        raise ValueError(
            f"Can't view a storage of size {a.size()} with an offset of {storage_offset}, "
            f"shape of {shape!s}, and strides of {strides!s}, which requires a storage of size {needed}"
        )


def clone_preserve_strides(x: Tensor) -> Tensor:
    """A copy with the same strides and offset, also where elements overlap."""
    shape, strides, offset = x.size(), x.stride(), x.storage_offset()
    length = compute_required_storage_length(shape, strides, offset)
    return x.as_strided((length,), (1,), 0).clone().as_strided(shape, strides, offset)


def are_strides_like_channels_last_or_false(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides of four or five dimensions grow from channels over width and height to the
    batch.
    """
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * shape[dim]
    return True


def suggest_memory_format(x: Tensor) -> _d.memory_format:
    """The memory format that the strides are like."""
    if x.layout is _d.strided and are_strides_like_channels_last_or_false(x.shape, x.stride()):
        return _d.channels_last if x.ndim == 4 else _d.channels_last_3d
    return _d.contiguous_format


# ---- checks of arguments ---------------------------------------------------------------------
def is_cpu_scalar_tensor(a: object) -> bool:
    """Whether it is a tensor without dimensions in main memory."""
    return isinstance(a, Tensor) and a.ndim == 0 and a.device.type == "cpu"


def _tensors(args: Sequence[Any], word: str, scalars: bool) -> list[Tensor]:
    """The tensors among arguments; numbers are passed over, and so are `scalars` of the CPU."""
    found = []
    for arg in args:
        if isinstance(arg, Tensor):
            if not (scalars and is_cpu_scalar_tensor(arg)):
                found.append(arg)
        elif not isinstance(arg, Number):
            raise RuntimeError(f"Unexpected type when checking for same {word}, {type(arg)}!")
    return found


def check_same_device(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Refuse tensors of several devices."""
    tensors = _tensors(args, "device", allow_cpu_scalar_tensors) if len(args) > 1 else []
    for t in tensors:
        if t.device != tensors[0].device:
            raise RuntimeError(
                f"Tensor on device {t.device} is not on the expected device {tensors[0].device}!"
            )


def check_same_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Refuse tensors of several shapes."""
    tensors = _tensors(args, "shape", allow_cpu_scalar_tensors)
    for t in tensors:
        if t.shape != tensors[0].shape:
            raise RuntimeError(f"Shape {t.shape} is not the expected shape {tensors[0].shape}!")


def check_same_dtype(*args: Any) -> None:
    """Refuse tensors of several dtypes."""
    tensors = _tensors(args, "dtype", False)
    for t in tensors:
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"Tensor with dtype {t.dtype} is not the expected dtype of {tensors[0].dtype}!"
            )


def extract_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> Any:
    """The shape that all tensors have, or None."""
    try:
        tensors = _tensors(args, "shape", allow_cpu_scalar_tensors)
    except RuntimeError:
        return None
    if not tensors:
        return next((x.shape for x in args if isinstance(x, Tensor)), None)
    shape = tensors[0].shape
    return shape if all(t.shape == shape for t in tensors) else None


def check_fp_or_complex(
    dtype: _d.dtype, fn_name: str, allow_low_precision_dtypes: bool = True
) -> None:
    """Refuse whole numbers, and without `allow_low_precision_dtypes` two-byte floats."""
    _check(
        is_grad_dtype(dtype),
        f"{fn_name}: Expected a floating point or complex tensor as input. Got {dtype}",
    )
    _check(
        allow_low_precision_dtypes or not is_low_precision_dtype(dtype),
        f"{fn_name}: Half precision dtypes not supported. Got {dtype}",
    )


def check_is_matrix(A: Tensor, f_name: str, arg_name: str = "A") -> None:  # noqa: N803
    """Refuse a tensor with fewer than two dimensions."""
    _check(A.ndim >= 2, f"{f_name}: The input tensor {arg_name} must have at least 2 dimensions.")


def check_pin_memory(pin_memory: bool) -> None:
    """Refuse pinned memory."""
    _check_not_implemented(not pin_memory, "PrimTorch does not support pinned memory")


def check_layout(layout: Any) -> None:
    """Refuse all layouts but torch.strided."""
    _check_not_implemented(layout == _d.strided, f"PrimTorch doesn't support layout={layout}")


def check(b: bool, s: Callable[[], str], exc_type: type[Exception] = RuntimeError) -> None:
    """Raise an error where a condition does not hold; `torch._check` is the newer name."""
    warn(
        "`torch._prims_common.check` is deprecated and will be removed in the future. Please use "
        "`torch._check*` functions instead.",
        FutureWarning,
    )
    _check_with(exc_type, b, s)


def set_correction(unbiased: bool | None = None, correction: Any = None) -> float:
    """What a variance subtracts from the count, from either way to say so."""
    if correction is not None and unbiased is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    if not isinstance(correction, (*IntLike, *FloatLike)):
        raise ValueError("correction argument should be integer or float")
    return float(correction)  # type: ignore[arg-type]


def mask_tensor(mask: Tensor, t: Tensor) -> Tensor:
    """The elements under a mask, zero elsewhere."""
    return mask.logical_and(t) if t.dtype is _d.bool_ else FUNCTIONS["torch"]["where"](mask, t, 0)


def dtype_or_default(dtype: _d.dtype | None) -> _d.dtype:
    """The dtype, or the default one for None."""
    return _d.get_default_dtype() if dtype is None else dtype


def device_or_default(device: Any) -> Any:
    """The device, or the CPU for None."""
    return _d.device("cpu") if device is None else device


def layout_or_default(layout: Any) -> Any:
    """The layout, or torch.strided for None."""
    return _d.strided if layout is None else layout


def canonicalize_device(device: Any) -> _d.device:
    """The device that a string names."""
    if not isinstance(device, (_d.device, str)):
        raise AssertionError(f"device must be torch.device or str, got {type(device)}")
    return _d.device(device)
