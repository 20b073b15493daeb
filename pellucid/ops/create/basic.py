"""New tensors of a given shape: zeros, ones, full, empty, their `_like` and `new_` forms, identity
matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import devices, dtypes
from ...arrays import numpy_fast
from ...arrays.layout import laid_alike
from ...arrays.meta import MetaArray
from ...arrays.sparse.array import SparseArray, package
from ...core.bind import as_subclass
from ...core.modes import local
from ...core.public import FUNCTIONS, METHODS, method, public
from ...core.tensor import Tensor
from ...core.transforms.batching import Batched, batched, level_of, physical
from ...errors import ArgumentTypeError, OperationError, UnsupportedError, type_name
from .._numbers import as_number, fitting
from .._rules import require_tensor
from .._unset import mark_unset, unset
from ._factory import Fill, build, check_memory, deliver, fresh, sizes, want_gradient

SPARSE = (
    devices.sparse_coo,
    devices.sparse_csr,
    devices.sparse_csc,
    devices.sparse_bsr,
    devices.sparse_bsc,
)


# ---- zeros, ones, empty -----------------------------------------------------------------------
def _maker(name: str, fill: Fill, doc: str, example: str) -> Callable[..., Tensor]:
    """Define `torch.name(*size, ...)`."""

    def make(
        *size: Any,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        if (
            out is None
            and (device is None is local.device or device is devices.cpu)
            and size
            and not requires_grad
            and not pin_memory
            and not kwargs
            and layout is None
            and memory_format is None
        ):
            # Fast path for the common call: only a size and a dtype, on the CPU.
            kind = dtypes.get_default_dtype() if dtype is None else dtypes.check_dtype(dtype, name)
            return fresh(fill, sizes(size, name), kind.numpy)  # type: ignore[union-attr]
        if kwargs:
            size = _only_size(size, kwargs, name)
        elif not size:
            raise ArgumentTypeError(f'{name}() missing 1 required positional arguments: "size"')
        if layout in SPARSE:
            made = package()._shape.made(
                name, sizes(size, name), layout, dtypes.check_dtype(dtype, name)
            )
            return want_gradient(made) if requires_grad else made
        check_memory(layout, pin_memory)
        given = dtypes.check_dtype(dtype, name)
        kind = given or (out.dtype if out is not None else dtypes.get_default_dtype())
        return deliver(
            build(sizes(size, name), kind, device, requires_grad, fill, memory_format),
            out,
            name,
            given,
        )

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A tensor {doc}.

    Args:
        size: the sizes, as numbers or as one sequence.
        dtype: the dtype. Default: the default dtype.
        device: "cpu" or "meta".
        requires_grad: record operations on it. Default: False.

    >>> import pellucid as torch
    >>> {example}
    """
    return public()(make)


def _only_size(size: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Return the size, which may be given as the keyword `size`. Allow `names=None` and refuse all
    other keywords.
    """
    if kwargs.get("names", 0) is None:
        kwargs.pop("names")
    if "size" in kwargs and not size:
        size = (kwargs.pop("size"),)
    if kwargs:
        raise ArgumentTypeError(
            f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'"
        )
    return size


def _ones(shape: Any, kind: Any) -> Any:
    return numpy_fast.full(shape, 1, kind)


zeros = _maker("zeros", np.zeros, "of zeros", "torch.zeros(2)\n    tensor([0., 0.])")
ones = _maker("ones", _ones, "of ones", "torch.ones(2)\n    tensor([1., 1.])")
empty = _maker(
    "empty",
    unset,
    "of arbitrary values, whatever the memory holds",
    "torch.empty(2, 3).shape\n    torch.Size([2, 3])",
)


@public()
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    names: None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor filled with one number. The number's type decides the dtype unless you give one.

    Args:
        size: the sizes, as a tuple.
        fill_value: the number.
        dtype: the dtype. Default: that of `fill_value` (float32, int64, bool or complex64).
        device: where it lives. Default: the CPU.
        requires_grad: record operations on it. Default: False.

    >>> import pellucid as torch
    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    if (
        type(size) is tuple
        and (type(fill_value) is float or type(fill_value) is int)
        and type(dtype) is dtypes.dtype
        and out is layout is device is local.device is None
        and not requires_grad
        and not pin_memory
    ):  # the everyday call
        number = fitting(fill_value, dtype)
        return fresh(
            lambda shape, kind: numpy_fast.full(shape, number, kind),
            sizes(size, "full"),
            dtype.numpy,
        )
    check_memory(layout, pin_memory)
    given = dtypes.check_dtype(dtype, "full")
    value = as_number(fill_value, "full", "fill_value", 2)
    kind = given or (out.dtype if out is not None else dtypes.number_dtype(value))
    result = build(
        sizes((size,) if isinstance(size, (tuple, list)) else _refuse_size(size), "full"),
        kind,
        device,
        requires_grad,
        _filler(value, kind),
    )
    return deliver(result, out, "full", given)


def _refuse_size(size: Any, name: str = "full") -> Any:
    raise ArgumentTypeError(
        f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}"
    )


def _filler(value: Any, kind: dtypes.dtype) -> Fill:
    checked = fitting(value, kind)
    return lambda shape, numpy_kind: numpy_fast.full(shape, checked, numpy_kind)


# ---- like another tensor ----------------------------------------------------------------------
def make_like(
    input: Tensor,
    fill: Fill,
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
    pin_memory: bool,
    memory_format: Any,
    name: str,
) -> Tensor:
    """A tensor of the shape of `input`, and of its dtype, device and order of memory unless told
    otherwise.
    """
    a = require_tensor(input, name)._array
    if type(input) is Batched:
        whole = make_like(
            physical(input), fill, dtype, layout, device, False, pin_memory, memory_format, name
        )
        return _for_each_sample(input, whole, requires_grad)
    if (
        dtype is layout is device is None
        and type(a) is np.ndarray
        and a.flags.c_contiguous
        and memory_format is dtypes.preserve_format
        and not pin_memory
    ):  # the everyday call
        made = fresh(fill, a.shape, a.dtype)
        return want_gradient(made) if requires_grad else made
    if (
        type(input._array) is SparseArray
        and layout is not dtypes.strided
        or layout is not None
        and layout in SPARSE
    ):
        made = package()._shape.like(input, layout, dtype, name)
        return want_gradient(made) if requires_grad else made
    check_memory(layout, pin_memory)
    kind = dtypes.check_dtype(dtype, name) or input.dtype
    if memory_format not in (None, dtypes.preserve_format):
        return build(
            input._array.shape, kind, device or input.device, requires_grad, fill, memory_format
        )
    result = build(input._array.shape, kind, device or input.device, False, fill)
    old, new = input._array, result._array
    if type(old) is type(new) is MetaArray:
        result._array = laid_alike(old, new.dtype)
    elif MetaArray not in (type(old), type(new)) and not old.flags.c_contiguous:
        held = laid_alike(old, new.dtype)
        held[...] = new
        result._array = held
    return want_gradient(result) if requires_grad else result


def _for_each_sample(like: Tensor, whole: Tensor, requires_grad: bool) -> Tensor:
    """What was made like a tensor of `vmap` differs from sample to sample, too: it may be written to
    where that is.
    """
    made = batched(whole, level_of(like))
    return want_gradient(made) if requires_grad else made


def _like(name: str, fill: Fill, doc: str, example: str) -> Callable[..., Tensor]:
    def make(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = dtypes.preserve_format,
    ) -> Tensor:
        return make_like(
            input, fill, dtype, layout, device, requires_grad, pin_memory, memory_format, name
        )

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{doc}, with the shape, dtype and device of `input`.

    Args:
        input: any shape and dtype.
        dtype, device: other ones than those of `input`. Default: None.
        requires_grad: record operations on the result. Default: False.
        memory_format: the order in memory. Default: that of `input`.

    >>> import pellucid as torch
    >>> {example}
    """
    return public()(make)


zeros_like = _like(
    "zeros_like",
    np.zeros,
    "A tensor of zeros",
    "torch.zeros_like(torch.tensor([1, 2]))\n    tensor([0, 0])",
)
ones_like = _like(
    "ones_like",
    _ones,
    "A tensor of ones",
    "torch.ones_like(torch.tensor([1, 2]))\n    tensor([1, 1])",
)
empty_like = _like(
    "empty_like",
    unset,
    "A tensor with uninitialized values",
    "torch.empty_like(torch.tensor([1, 2])).shape\n    torch.Size([2])",
)


@public()
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = dtypes.preserve_format,
) -> Tensor:
    """A tensor filled with one number, with the shape, dtype and device of `input`.

    Args:
        input: any shape and dtype.
        fill_value: the number.
        dtype, device: other ones than those of `input`. Default: None.
        requires_grad: record operations on the result. Default: False.

    >>> import pellucid as torch
    >>> torch.full_like(torch.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    kind = dtypes.check_dtype(dtype, "full_like") or require_tensor(input, "full_like").dtype
    fill = _filler(as_number(fill_value, "full_like", "fill_value", 2), kind)
    return make_like(
        input, fill, kind, layout, device, requires_grad, pin_memory, memory_format, "full_like"
    )


def _new(name: str, fill: Fill, doc: str) -> None:
    def make(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        if kwargs:
            size = _only_size(size, kwargs, name)
        check_memory(layout, pin_memory)
        kind = dtypes.check_dtype(dtype, name) or self.dtype
        if type(self) is Batched:
            shape = (self.batch_size, *sizes(size, name))
            whole = make(physical(self), shape, dtype=kind, device=device)
            return _for_each_sample(self, whole, requires_grad)
        made = build(sizes(size, name), kind, device or self.device, requires_grad, fill)
        return made if type(self) is Tensor else as_subclass((self,), made)

    make.__name__ = make.__qualname__ = name
    made = f"torch.tensor([1.0], dtype=torch.float64).{name}(2, 3)"
    make.__doc__ = (
        f"{doc} of the given size, with this tensor's dtype and device.\n\n"
        f">>> import pellucid as torch\n>>> {made}.shape, {made}.dtype\n"
        "(torch.Size([2, 3]), torch.float64)\n"
    )
    METHODS[name] = make


_new("new_zeros", np.zeros, "Zeros")
_new("new_ones", np.ones, "Ones")
_new("new_empty", unset, "Arbitrary values")


@method()
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """One number in the given size, with this tensor's dtype and device.

    >>> import pellucid as torch
    >>> torch.tensor([1, 2]).new_full((2,), 7)
    tensor([7, 7])
    """
    check_memory(layout, pin_memory)
    kind = dtypes.check_dtype(dtype, "new_full") or self.dtype
    if not isinstance(size, (tuple, list)):
        _refuse_size(size, "new_full")
    shape = sizes((size,), "new_full")
    if type(self) is Batched:
        all_of_them = (self.batch_size, *shape)
        whole = new_full(physical(self), all_of_them, fill_value, dtype=kind, device=device)
        return _for_each_sample(self, whole, requires_grad)
    fill = _filler(as_number(fill_value, "new_full", "fill_value", 2), kind)
    return build(shape, kind, device or self.device, requires_grad, fill)


# ---- chosen strides ---------------------------------------------------------------------------
@public()
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of arbitrary values with the given shape and strides (in elements).

    >>> import pellucid as torch
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    check_memory(layout, pin_memory)
    shape, steps = sizes((size,), "empty_strided"), sizes((stride,), "empty_strided")
    if len(shape) != len(steps):
        raise OperationError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )

    def fill(shape: tuple[int, ...], kind: Any) -> np.ndarray:
        extent = (
            0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
        )
        memory = np.empty(extent * kind.itemsize, np.uint8)
        array = np.ndarray(shape, kind, memory, 0, tuple(s * kind.itemsize for s in steps))
        return mark_unset(array)

    result = build(
        shape,
        dtypes.check_dtype(dtype, "empty_strided") or dtypes.get_default_dtype(),
        device,
        False,
        fill,
    )
    if type(result._array) is MetaArray:
        result._array = MetaArray(
            shape, result._array.dtype, tuple(s * result._array.itemsize for s in steps)
        )
    return want_gradient(result) if requires_grad else result


@method()
def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """As `torch.empty_strided`, with this tensor's dtype and device.

    >>> import pellucid as torch
    >>> torch.tensor([1.0]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if type(self) is Batched:
        # the samples one after the other
        extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
        sizes_of_all, steps = (self.batch_size, *size), (extent, *stride)
        whole = new_empty_strided(physical(self), sizes_of_all, steps, dtype, device)
        return _for_each_sample(self, whole, requires_grad)
    return empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
        layout=layout,
    )


@public()
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of arbitrary values, dense in memory, with its dimensions laid out in the given
    order, outermost first.

    >>> import pellucid as torch
    >>> torch.empty_permuted((2, 3, 5), (1, 0, 2)).stride()
    (5, 10, 1)
    """
    shape, order = sizes((size,), "empty_permuted"), sizes((physical_layout,), "empty_permuted")
    if len(shape) != len(order):
        raise OperationError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    wrong = next((k for k, d in enumerate(order) if not 0 <= d < len(shape)), None)
    if wrong is not None:
        raise OperationError(
            f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {order[wrong]} at index {wrong}).  "
            "NB: negative dims not currently supported; file an issue if you want it."
        )
    if len(set(order)) != len(order):
        raise OperationError("Duplicate dim not allowed")
    stride, step = [0] * len(shape), 1
    for dim in reversed(order):
        stride[dim] = step
        step *= max(shape[dim], 1)
    return empty_strided(
        shape, stride, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


# ---- identity ---------------------------------------------------------------------------------
@public()
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The identity matrix: ones on the diagonal, zeros elsewhere.

    Args:
        n, m: rows and columns. `m` is `n` by default.
        dtype: the dtype. Default: the default dtype.

    >>> import pellucid as torch
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_memory(layout, pin_memory)
    m = n if m is None else m
    for name, size in (("n", n), ("m", m)):
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool):
            position = 1 if name == "n" else 2
            raise ArgumentTypeError(
                f"eye(): argument '{name}' (position {position}) must be int, not {type_name(size)}"
            )
        if size < 0:
            raise OperationError(f"{name} must be greater or equal to 0, got {size}")
    given = dtypes.check_dtype(dtype, "eye")
    kind = given or (out.dtype if out is not None else dtypes.get_default_dtype())
    if kind.is_wide_unsigned or kind is dtypes.complex32:
        raise UnsupportedError(f"\"eye\" not implemented for '{kind.scalar_type_name}'")
    result = build(
        (int(n), int(m)), kind, device, requires_grad, lambda shape, k: np.eye(*shape, dtype=k)
    )
    return deliver(result, out, "eye", given)


for _layout in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"):
    FUNCTIONS["torch"][_layout] = getattr(devices, _layout)
