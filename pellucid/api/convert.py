"""Convert tensors to other dtypes, Python numbers, lists, NumPy arrays, DLPack capsules, copies and
pickles.
"""

from __future__ import annotations

import inspect
from typing import Any, SupportsIndex

import numpy as np

from .. import dtypes, shapes
from ..arrays.layout import laid_alike, own_memory
from ..arrays.meta import MetaArray
from ..arrays.numpy_cpu import NAMESPACES, lend, namespace_of, with_known_dtype
from ..arrays.sparse.array import SparseArray
from ..core import observe, tracing
from ..core.bind import general
from ..core.inplace import bump, check_read, check_writable, is_written_directly, overwrite
from ..core.modes import local, state
from ..core.primitive import PRIMITIVES, defop
from ..core.primitive import TENSORS as F
from ..core.public import METHODS, method, public, tensor_property
from ..core.tape import titled
from ..core.tensor import Tensor, hand_out_copies, make_tensor
from ..core.transforms import without_data as _without_data  # noqa: F401 (backward of meta)
from ..devices import cpu as _CPU
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    GraphError,
    OperationError,
    UnsupportedError,
    foreign,
    no_cuda,
    no_pinned,
    type_name,
    warn_once,
)
from ..ops._rules import is_direct
from ..ops._samples import cases
from ..ops.shape.storage import contiguous_op, order_of, suggested_format
from .create.by_name import TYPE_NAMES, of_type
from .create.construct import WithoutData, check_device, rebuild_wrapper
from .create.dlpack import check_stream, export

# ---- copies ----------------------------------------------------------------------------------
clone_op = defop(
    "clone",
    "input",
    forward=lambda xp, x: x.copy("K") if x.size else x.copy("C"),
    lies="input",
    vjp={"input": lambda g: g},
    jvp="linear",
    aval=lambda x: x,
    batch="elementwise",
    traits="passes copies",
    onnx="Identity",
    samples=cases((((2, 3),), {}), (((),), {}), complex=True),
)


@public(methods="=")
def clone(input: Tensor, *, memory_format: Any = dtypes.preserve_format) -> Tensor:
    """Copy a tensor. The copy has its own memory, and gradients flow back through it.

    Args:
        input: any shape and dtype.
        memory_format: the order of the copy in memory. Default: that of `input`.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> y = x.clone()
    >>> y[0] = 9
    >>> x
    tensor([1., 2.])
    """
    if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        return contiguous_op.call(input, order=order_of(memory_format, input._array.ndim))
    if (
        memory_format is dtypes.contiguous_format
        and type(input._array) in (np.ndarray, MetaArray)
        and not input.is_contiguous()
    ):
        return input.contiguous()
    return clone_op.call(input)


@method()
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of `other`, a tensor or a number, broadcast and cast, into this tensor.

    >>> import pellucid as torch
    >>> x = torch.zeros(2, dtype=torch.float64)
    >>> x.copy_(torch.tensor([1.0, 2.0]))
    tensor([1., 2.], dtype=torch.float64)
    """
    if is_written_directly(self) and is_direct(other):
        a, b = self._array, other._array
        if a.shape == b.shape and a.dtype is b.dtype and own_memory(a, b):
            a[...] = b
            bump(self, "copy_")
            return self
    if isinstance(other, (int, float, complex, np.number, np.bool_)):
        other = make_tensor(tracing.constant(np.asarray(other)))
    if not isinstance(other, Tensor):
        raise ArgumentTypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type_name(other)}"
        )
    if other.is_meta and not self.is_meta:
        raise UnsupportedError("Cannot copy out of meta tensor; no data!")
    check_writable(self, "copy_")
    check_read(self, (other,))
    value = other
    if value._array.shape != self._array.shape:
        _check_fits(value._array.shape, self._array.shape)
        value = F.expand(value, shape=self._array.shape)
    if value._array.dtype != self._array.dtype:
        value = F.cast(value, dtype=self._array.dtype)
    elif value is other:
        # The graph must have a node of the copy itself: the source's own node belongs to another
        # tensor.
        value = F.clone(value) if value._rg and local.grad else value
    if (
        value._rg
        and self._rg
        and self._view is None
        and local.grad
        and self.dtype.is_floating_point
    ):
        # What is overwritten has a gradient, of zeros. (The base of a view has one anyway.)
        value = F.where(make_tensor(tracing.constant(np.ones((), bool))), value, self)
    if value._rg and self._view is None and local.grad and value is not other:
        titled(value, "CopyBackwards", of=(self, other))
    return overwrite(self, value, "copy_")


def _check_fits(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for i in range(1, min(len(a), len(b)) + 1):
        if a[-i] not in (1, b[-i]) and b[-i] != 1:
            raise OperationError(
                f"The size of tensor a ({b[-i]}) must match the size of tensor b ({a[-i]}) at non-singleton dimension "
                f"{max(len(a), len(b)) - i}",
                op="copy_",
            )
    made = shapes.broadcast_shapes(a, b)
    if made != b:
        raise OperationError(
            f"output with shape {list(b)} doesn't match the broadcast shape {list(made)}",
            op="copy_",
        )


def shallow_copy(self: Tensor) -> Any:
    """`copy.copy`: another tensor in the same memory, a leaf, with the same attributes."""
    if type(self).__reduce_ex__ is not Tensor.__reduce_ex__ or type(self._array) is not np.ndarray:
        # types with a form of their own say what they are made of
        rebuild, given = self.__reduce_ex__(4)[:2]
        return rebuild(*given)
    return _rebuild(type(self), self._array, self._rg, dict(vars(self)))


METHODS["__copy__"] = shallow_copy


# ---- dtypes and devices ----------------------------------------------------------------------
def _to_dtype(x: Tensor, kind: Any, copy: bool = False) -> Tensor:
    kind = dtypes.check_dtype(kind, "to")
    target = kind.numpy
    if x._array.dtype == target:
        return titled(clone(x), "ToCopy") if copy else x
    if type(x._array) is np.ndarray and x._array.dtype.kind in "cW" and target.kind not in "cWb":
        warn_once("Casting complex values to real discards the imaginary part")
    return F.cast(x, dtype=target)


def _of_number(value: Any) -> dtypes.dtype:
    """The dtype of the tensor that PyTorch makes of a number which stands for one."""
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, (int, np.integer)):
        return dtypes.int64
    return dtypes.complex128 if isinstance(value, complex) else dtypes.float64


def _no_form_of_to(args: tuple[Any, ...]) -> Exception:
    return ArgumentTypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})"
    )


@method()
def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    tensor: Any = None,
    copy: Any = False,
    non_blocking: Any = None,
    memory_format: Any = None,
    **kwargs: Any,
) -> Tensor:
    """`to(dtype)`, `to(device, dtype)`, `to(tensor)`: the tensor in another dtype or on another
    device, itself when nothing changes.

    Keywords: device, dtype, non_blocking, copy, memory_format.

    >>> import pellucid as torch
    >>> torch.tensor([1.7, 2.2]).to(torch.int64)
    tensor([1, 2])
    """
    if kwargs:
        raise ArgumentTypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    kind, where, rest = dtype, device, list(args)
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and dtypes.is_dtype(rest[0]):
        kind = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, dtypes.device))):
        where = rest.pop(0)
        # flags come after a dtype only
        if rest and rest[0] is not None and not dtypes.is_dtype(rest[0]):
            raise _no_form_of_to(args)
        kind = rest.pop(0) if rest else kind
    elif rest and isinstance(rest[0], (bool, np.bool_, int, float, complex, np.number)):
        kind = _of_number(rest[0])
        if kind is dtypes.int64 and not (len(rest) > 1 and isinstance(rest[1], bool)):
            where, kind = dtypes.device(rest[0]), None  # no flag follows
        rest.pop(0)
        if kind is None and rest and (rest[0] is None or dtypes.is_dtype(rest[0])):
            kind = rest.pop(0)
    elif rest:
        raise _no_form_of_to(args)
    if rest and isinstance(rest[0], bool):
        rest.pop(0)
    if rest and isinstance(rest[0], bool):
        copy = rest.pop(0)
    if rest:
        raise _no_form_of_to(args)
    if isinstance(tensor, Tensor):
        kind, where = tensor.dtype, tensor.device
    elif tensor is not None:
        kind = _of_number(tensor)
    result = self
    if where is not None:
        result = to_device(result, check_device(where))
        copy = copy and result is self
    if kind is not None:
        before = result
        result = _to_dtype(result, kind, copy)
        copy = copy and result is before
    if copy and result is self:
        result = titled(clone(self), "ToCopy")
    made = _laid_out(result, memory_format)
    return made if made is result else titled(made, "ToCopy", of=(self,))


def to_device(x: Tensor, where: dtypes.device) -> Tensor:
    """The tensor on a device: dropping the data for `meta`, refusing to invent it for the way back."""
    if where is _CPU and type(x._array) is np.ndarray or where.type == x.device.type:
        return x
    if where.type == "meta":
        return make_tensor(
            laid_alike(MetaArray(x._array.shape, x._array.dtype, x._array.strides), x._array.dtype)
        )
    if x.is_meta:
        raise UnsupportedError("Cannot copy out of meta tensor; no data!")
    return F.move(x, source=x.device.type, target=where.type)


defop(
    "move",
    "input",
    forward=lambda xp, x, *, source, target: NAMESPACES[target].from_host(xp.to_host(x)),
    aval=lambda x, *, source, target: x,
    vjp={"input": lambda F, g, source, target: F.move(g, source=target, target=source)},
    jvp="linear",
    grad_name="ToCopy",
    batch="dims",
    # Not by way of the fast callers, which expect a result of the kind of the argument.
    call=lambda plain: lambda input, **params: general(PRIMITIVES["move"], (input,), params),
)


def _shown(self: Tensor, *, memory_format: Any = None) -> Tensor:
    return self


# of all converters, which take more to refuse it in PyTorch's words
_SIGNATURE = inspect.signature(_shown)


def _laid_out(x: Tensor, memory_format: Any) -> Tensor:
    """The tensor in a memory format that was asked for."""
    if memory_format is None or memory_format is dtypes.preserve_format:
        return x
    order = order_of(memory_format, x._array.ndim)
    return x if suggested_format(x) is memory_format else contiguous_op.call(x, order=order)


def _converter(name: str, kind: dtypes.dtype) -> None:
    def convert(self: Tensor, *args: Any, memory_format: Any = None, **kwargs: Any) -> Tensor:
        if not isinstance(self, Tensor):
            raise foreign(name, self)
        if args or kwargs:
            wrong = (
                f"got an unexpected keyword argument {next(iter(kwargs))!r}"
                if kwargs
                else f"takes 0 positional arguments but {len(args)}"
            )
            raise ArgumentTypeError(
                f"{name}() {wrong}"
                + ("" if kwargs else f" {'was' if len(args) == 1 else 'were'} given")
            )
        result = _to_dtype(self, kind)
        made = _laid_out(result, memory_format)
        return made if made is result else titled(made, "ToCopy", of=(self,))

    convert.__name__ = name
    convert.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
    convert.__doc__ = f"The tensor as {kind!r}; itself when it is that already."
    convert.__doc__ += (
        f"\n\n>>> import pellucid as torch\n>>> torch.tensor([1, 0]).{name}().dtype\n"
    )
    convert.__doc__ += f"{kind!r}\n"
    METHODS[name] = convert


for _name, _kind in (
    ("float", dtypes.float32),
    ("double", dtypes.float64),
    ("half", dtypes.float16),
    ("bfloat16", dtypes.bfloat16),
    ("int", dtypes.int32),
    ("long", dtypes.int64),
    ("short", dtypes.int16),
    ("char", dtypes.int8),
    ("byte", dtypes.uint8),
    ("bool", dtypes.bool_),
    ("cfloat", dtypes.complex64),
    ("cdouble", dtypes.complex128),
    ("chalf", dtypes.complex32),
):
    _converter(_name, _kind)


@method("type")
def type_method(self: Tensor, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    """The type's name (`'torch.FloatTensor'`), or the tensor cast to `dtype`.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.5, 2.5])
    >>> x.type()
    'torch.FloatTensor'
    >>> x.type(torch.int64)
    tensor([1, 2])
    """
    if dtype is None:
        return f"torch.{TYPE_NAMES[self.dtype]}"
    return _to_dtype(self, dtype if isinstance(dtype, dtypes.dtype) else of_type(dtype))


@method()
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Convert to the dtype of another tensor.

    >>> import pellucid as torch
    >>> torch.arange(2).type_as(torch.zeros(1))
    tensor([0., 1.])
    """
    return _to_dtype(self, other.dtype)


@method()
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself: it is on the CPU.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0])
    >>> x.cpu() is x
    True
    """
    return _laid_out(to_device(self, _CPU), memory_format)


@method()
def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Not supported: Pellucid computes on the CPU.

    >>> import pellucid as torch
    >>> torch.ones(2).cuda()
    Traceback (most recent call last):
        ...
    AssertionError: Torch not compiled with CUDA enabled...
    """
    raise no_cuda()


@method()
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Not supported: there is no accelerator to pin memory for.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0])
    >>> x.pin_memory()
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available...
    """
    raise no_pinned()


@method()
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.tensor([1.0]).is_pinned()
    False
    """
    return False


# ---- Python and NumPy ------------------------------------------------------------------------
def _read(x: Tensor, how: str) -> np.ndarray:
    """The values, about to leave the graph."""
    if not isinstance(x, Tensor):
        raise foreign(how, x)
    try:
        array = x._array
    except AttributeError:  # `Tensor.item(3)`
        raise foreign(how, x) from None
    if type(array) is not np.ndarray:
        if type(array) is SparseArray:
            raise ArgumentTypeError(
                f"can't convert Sparse layout tensor to {how}. Use Tensor.to_dense() first."
            )
        if type(array) is MetaArray and how != "numpy":
            if how in ("item", "float", "int", "bool"):
                if array.size != 1 and how == "item":
                    raise OperationError(
                        f"a Tensor with {array.size} elements cannot be converted to Scalar"
                    )
                raise OperationError("Tensor.item() cannot be called on meta tensors")
            raise UnsupportedError("Cannot copy out of meta tensor; no data!")
        if how == "numpy":
            raise ArgumentTypeError(
                f"can't convert {x.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            )
        array = namespace_of(array).to_host(array)
    if state.slow and observe.observers:
        observe.notify("read", x, how)
    return array


@method()
def item(self: Tensor) -> Any:
    """The value of a tensor with one element, as a Python number. It has no gradient.

    Raises:
        RuntimeError: the tensor has no element, or several.

    >>> import pellucid as torch
    >>> torch.tensor([2.5]).item()
    2.5
    """
    if type(self) is Tensor and not state.slow and type(self._array) is np.ndarray:
        array = self._array
        if array.size == 1:  # the everyday call
            return array.item() if array.dtype.kind != "V" else float(array.item())
    array = self._array if tracing.tracer() and type(self) is Tensor else _read(self, "item")
    if array.size != 1:
        raise OperationError(
            f"a Tensor with {array.size} elements cannot be converted to Scalar",
            op="item",
            hint="reduce it first (.mean(), .sum()), or use .tolist() for all values",
        )
    value = array.item() if array.dtype.kind != "V" else float(array.reshape(())[()])
    value = (
        float(value) if isinstance(value, np.floating) or self.dtype.is_floating_point else value
    )
    return tracing.number(value, self)


@method()
def tolist(self: Tensor) -> Any:
    """The values as nested Python lists. A tensor without dimensions gives a number.

    >>> import pellucid as torch
    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    array = _read(self, "tolist")
    if array.dtype not in _NATIVE:
        array = array.astype(np.complex64 if array.dtype.kind == "W" else np.float32)
    return array.tolist()


_NATIVE = {k for k in dtypes.BY_NUMPY if k.isbuiltin == 1}  # not ml_dtypes's


@method()
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The NumPy array, sharing memory.

    Raises:
        RuntimeError: the tensor requires grad, and grad mode is on (detach() it first). TypeError:
            bfloat16 has no NumPy counterpart.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> a = x.numpy()
    >>> a[0] = 5.0
    >>> x
    tensor([5., 2.])
    """
    if self._rg and local.grad and not force:
        raise GraphError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            op="numpy",
            hint="NumPy cannot record gradients: call detach() first when you only want the values",
        )
    if self._ver is not None and self._ver.borrowers is not None:
        hand_out_copies(self._ver)
    if force and self.is_meta:
        raise UnsupportedError("Cannot copy out of meta tensor; no data!")
    array = _read(self, "numpy")
    if array.dtype not in _NATIVE:
        raise ArgumentTypeError(f"Got unsupported ScalarType {self.dtype.scalar_type_name}")
    return lend(array)


def to_numpy_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = numpy(self)
    if dtype is not None:
        array = array.astype(dtype, copy=False)
    return array.copy() if copy else array


METHODS["__array__"] = to_numpy_protocol


def array_wrap(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """NumPy functions of tensors give tensors."""
    return make_tensor(np.asarray(array))


METHODS["__array_wrap__"] = array_wrap
METHODS["__array_priority__"] = 1000


def dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    if self._rg:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    check_stream(stream)
    if self.is_meta:
        raise BufferError("Cannot pack tensors on meta")
    return export(_read(self, "dlpack"), max_version)


METHODS["__dlpack__"] = dlpack
METHODS["__dlpack_device__"] = lambda self: (1, 0)


def _number(name: str, convert: Any) -> None:
    def method_(self: Tensor) -> Any:
        array = _read(self, name)
        if array.size != 1:
            if name == "index":
                raise ArgumentTypeError(
                    "only integer tensors of a single element can be converted to an index"
                )
            raise ArgumentValueError(
                "only one element tensors can be converted to Python scalars",
                hint="reduce it first (.mean(), .sum()), or use .tolist() for all values",
            )
        if self._rg and local.grad and name != "int":  # integers are silent in PyTorch
            warn_once(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first."
            )
        value = item(self)
        if type(value) is complex and name != "complex":
            if value.imag:
                kind = "double" if name == "float" else "int64_t"
                raise OperationError(f"value cannot be converted to type {kind} without overflow")
            value = value.real
        return convert(value)

    METHODS[f"__{name}__"] = method_


_number("float", float)
_number("int", int)
_number("complex", complex)


def _index(self: Tensor) -> int:
    array = _read(self, "index")
    if array.size != 1 or array.dtype.kind not in "iub":
        raise ArgumentTypeError(
            "only integer tensors of a single element can be converted to an index"
        )
    return int(array.item())


METHODS["__index__"] = _index


def _bool(self: Tensor) -> bool:
    array = _read(self, "bool")
    if array.size != 1:
        if array.size == 0:
            raise OperationError("Boolean value of Tensor with no values is ambiguous")
        raise OperationError(
            "Boolean value of Tensor with more than one value is ambiguous",
            op="bool",
            hint="use .any() or .all() to say which is meant",
        )
    return bool(array.reshape(())[()])


METHODS["__bool__"] = _bool


@method("__nonzero__")
def _nonzero(self: Tensor) -> bool:
    """As `bool(tensor)`, by the name that Python 2 had for it."""
    return bool(self)


# ---- pickling --------------------------------------------------------------------------------
def _rebuild(cls: Any, array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """What a pickled tensor is rebuilt with."""
    result = make_tensor(with_known_dtype(array) if type(array) is np.ndarray else array)
    result.__class__ = cls
    result._rg = requires_grad
    result.__dict__.update(attributes)
    return result


def _rebuild_meta(shape: Any, kind: str, strides: Any) -> Any:
    return MetaArray(shape, dtypes.BY_NAME[kind].numpy, strides)


def reduce(self: Tensor, protocol: SupportsIndex = 2) -> Any:
    """What pickle writes: the values, without the graph; a tensor that required gradients comes
    back as a leaf that does.
    """
    array = self._array
    if type(array) is WithoutData:  # what it is made of is in its attributes
        given = (
            type(self),
            tuple(array.shape),
            self.stride(),
            dtypes.BY_NUMPY[array.dtype],
            array.device,
            self._rg,
        )
        return rebuild_wrapper, (*given, dict(vars(self)))
    if type(array) is not MetaArray and (array.base is not None or not array.flags.writeable):
        array = array.copy("K")
    return (_rebuild, (type(self), array, self._rg, dict(vars(self))))


METHODS["__reduce_ex__"] = reduce


def _reduce_meta(self: MetaArray) -> tuple[Any, ...]:
    return _rebuild_meta, (self.shape, dtypes.BY_NUMPY[self.dtype].name, self.strides)


MetaArray.__reduce__ = _reduce_meta  # type: ignore[method-assign, assignment]


# ---- what cannot be deleted ------------------------------------------------------------------
def _undeletable(name: str, message: str) -> None:
    def refuse(self: Tensor) -> None:
        raise OperationError(message)

    setattr(Tensor, name, vars(Tensor)[name].deleter(refuse))


_undeletable("data", "Deleting tensor data is not allowed. Delete tensor instead!")
_undeletable("requires_grad", "requires_grad must be a bool")


# ---- flags -----------------------------------------------------------------------------------
@tensor_property
def layout(self: Tensor) -> Any:
    """`torch.strided`."""
    return dtypes.strided


def _constant(name: str, value: Any, doc: str) -> None:
    def getter(self: Tensor) -> Any:
        return value

    getter.__name__, getter.__doc__ = name, doc
    tensor_property(getter)


for _name in (
    "is_cuda",
    "is_sparse",
    "is_quantized",
    "is_mkldnn",
    "is_mps",
    "is_xpu",
    "is_nested",
    "is_ipu",
    "is_vulkan",
    "is_sparse_csr",
):
    _constant(_name, False, "False: dense tensors on the CPU.")


@tensor_property
def is_cpu(self: Tensor) -> bool:
    """True unless the tensor is on `meta`."""
    return not self.is_meta


@tensor_property
def name(self: Tensor) -> Any:
    """The tensor's name, if a tool gave it one."""
    return None


@method()
def get_device(self: Tensor) -> int:
    """-1: the CPU has no device index."""
    return -1
