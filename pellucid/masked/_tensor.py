"""MaskedTensor: a tensor together with the mask that says which of its elements count."""

from __future__ import annotations

from typing import Any, NoReturn, SupportsIndex, TypeGuard

import numpy as np

from .. import dtypes
from ..api.overriding import DisableTorchFunctionSubclass, NoArray, public_name
from ..core.primitive import TENSORS as F
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, ArgumentValueError, warn
from . import _normalizations, _reductions

_UNARY = frozenset(
    "abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp clip "
    "conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan "
    "nan_to_num neg negative positive pow rad2deg reciprocal relu round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan "
    "tanh trunc __neg__ __pos__ __abs__ __invert__ __pow__ __ipow__ __rpow__".split()
)
_BINARY = frozenset(
    "add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod logaddexp "
    "logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal lt less "
    "maximum minimum fmax fmin not_equal rsub __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __div__ __rdiv__ __idiv__ "
    "__floordiv__ __rfloordiv__ __mod__ __and__ __or__ __xor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __iadd__ __isub__ __imul__ "
    "__itruediv__".split()
)
# Functions that place elements elsewhere: the mask goes the same way.
_PLACES = frozenset(
    "select transpose split chunk t T mT slice narrow cat concat concatenate stack hstack vstack index_select __getitem__ expand "
    "expand_as view view_as reshape reshape_as ravel flatten unflatten unsqueeze squeeze permute swapaxes swapdims movedim unbind flip "
    "roll where tile repeat broadcast_to diagonal".split()
)
# Functions of the data alone; the mask stays.
_ALIKE = frozenset(
    "to float double half int long short bool type type_as clone contiguous detach ones_like zeros_like full_like empty_like rand_like "
    "randn_like cpu alias".split()
)
_REDUCTIONS = frozenset("sum mean amin amax argmin argmax prod var std".split())
_KINDS = (
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.bool_,
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
)


class MaskedTensor(Tensor):
    """A tensor of which only the elements under True in `mask` count; made by `masked_tensor` and
    `as_masked_tensor`.

    Element-wise functions of several masked tensors want equal masks. Reductions leave out what is
    masked, and results of which nothing is left are masked themselves. What is neither raises
    TypeError.

    >>> import pellucid as torch
    >>> from pellucid.masked import masked_tensor
    >>> x = masked_tensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]))
    >>> x.sum()
    MaskedTensor(  4.0000, True)
    """

    _keeps_type = False
    _as_written = True
    _masked_data: Any
    _masked_mask: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        """A copy of `data` and `mask`, a leaf.

        Raises:
            TypeError: no tensors, a dtype that is not supported, or a mask that is not boolean.
                ValueError: sizes differ.
        """
        _checked(data, mask)
        if data.requires_grad:
            warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                "data.detach().clone()",
                UserWarning,
            )
        return _make(data.detach().clone().requires_grad_(requires_grad), mask.clone())

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        """Nothing more."""

    shape = property(lambda self: self._masked_data.shape)
    dtype = property(lambda self: self._masked_data.dtype)
    device = property(lambda self: self._masked_data.device)
    layout = property(lambda self: self._masked_data.layout)
    ndim = property(lambda self: self._masked_data.ndim)
    is_meta = is_cuda = is_sparse = is_quantized = is_nested = property(lambda self: False)
    is_cpu = property(lambda self: True)
    is_leaf = property(lambda self: self._masked_data.is_leaf)
    grad_fn = property(lambda self: self._masked_data.grad_fn)
    data = property(lambda self: _make(self._masked_data.detach(), self._masked_mask))
    requires_grad = property(
        lambda self: self._masked_data.requires_grad, lambda self, value: self.requires_grad_(value)
    )

    @property
    def grad(self) -> Any:
        g = self._masked_data.grad
        return None if g is None else _make(g, self._masked_mask)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._masked_data.grad = value._masked_data if isinstance(value, MaskedTensor) else value

    def requires_grad_(self, requires_grad: bool = True) -> MaskedTensor:
        self._masked_data.requires_grad_(requires_grad)
        return self

    def size(self, dim: int | None = None) -> Any:
        return self._masked_data.size() if dim is None else self._masked_data.size(dim)

    def stride(self, dim: int | None = None) -> Any:
        return self._masked_data.stride() if dim is None else self._masked_data.stride(dim)

    def dim(self) -> int:
        return self._masked_data.ndim

    def numel(self) -> int:
        return self._masked_data.numel()

    def is_floating_point(self) -> bool:
        return self._masked_data.is_floating_point()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._masked_data.is_contiguous()

    def get_data(self) -> Tensor:
        """The data, masked elements included; gradients flow through it."""
        return self._masked_data

    def get_mask(self) -> Tensor:
        """The mask: True where an element counts."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """An ordinary tensor with `value` where the mask is False."""
        return self._masked_data.masked_fill(~self._masked_mask, value)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """As `Tensor.backward`; `gradient` may be masked."""
        given = gradient.to_tensor(0) if isinstance(gradient, MaskedTensor) else gradient
        self._masked_data.backward(given, retain_graph, create_graph, inputs)

    def item(self) -> Any:
        """The one element.

        Raises:
            ValueError: it is masked.
        """
        if self._masked_data.numel() == 1 and not self._masked_mask.all().item():
            raise ArgumentValueError(
                "item(): the element is masked; to_tensor(value) puts a value in its place"
            )
        return self._masked_data.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __len__(self) -> int:
        return len(self._masked_data)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> MaskedTensor:
        return MaskedTensor(self._masked_data.detach(), self._masked_mask, self.requires_grad)

    def __reduce_ex__(self, protocol: SupportsIndex = 2) -> Any:
        return MaskedTensor, (self._masked_data.detach(), self._masked_mask, self.requires_grad)

    def __repr__(self, **_: Any) -> str:
        data, mask = self._masked_data.detach(), self._masked_mask
        form = "{0:8.4f}" if data.dtype.is_floating_point else "{0}"
        if data.ndim == 0:
            return (
                f"MaskedTensor({form.format(data.item()) if mask.item() else '--'}, {mask.item()})"
            )
        inner = "\n".join("  " + line for line in _text(data._array, mask._array, form).split("\n"))
        return f"MaskedTensor(\n{inner}\n)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with DisableTorchFunctionSubclass():
            return _apply(public_name(func), func, args, kwargs or {})

    class _interpreter:  # noqa: N801
        @staticmethod
        def run(below: Any, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            return _apply(op.name, lambda *a, **_: op.call(*a, **params), args, {})


def _make(data: Any, mask: Any) -> MaskedTensor:
    t: MaskedTensor = make_tensor(NoArray("masked tensor"), MaskedTensor)
    t._masked_data, t._masked_mask = data, mask
    return t


def _checked(data: Any, mask: Any) -> None:
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, Tensor) or isinstance(value, MaskedTensor):
            raise ArgumentTypeError(f"{name} must be a Tensor")
    if mask.dtype is not dtypes.bool_:
        raise ArgumentTypeError("mask must have dtype bool.")
    if data.dtype not in _KINDS:
        raise ArgumentTypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.ndim != mask.ndim:
        raise ArgumentValueError("data.dim() must equal mask.dim()")
    if data.shape != mask.shape:
        raise ArgumentValueError("data.size() must equal mask.size()")
    warn(
        "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github issue for "
        "features requests and see our documentation on the torch.masked module for further information about the project.",
        UserWarning,
    )


def _text(data: Any, mask: Any, form: str) -> str:
    if data.ndim == 1:
        cells = [form.format(x) if isinstance(x, float) else str(x) for x in data.tolist()]
        width = max((len(c) if m else 8 for c, m in zip(cells, mask)), default=0)
        return "[" + ", ".join(c if m else "--".rjust(width) for c, m in zip(cells, mask)) + "]"
    rows = [
        "\n".join("  " + line for line in _text(d, m, form).split("\n")) for d, m in zip(data, mask)
    ]
    return "[\n" + ",\n".join(rows) + "\n]"


def _each(value: Any, take: Any) -> Any:
    """Arguments with `take` in place of each masked tensor."""
    if isinstance(value, MaskedTensor):
        return take(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_each(v, take) for v in value)
    return value


def _both(func: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The function of the data, and of the masks."""
    out = []
    for take in (lambda t: t._masked_data, lambda t: t._masked_mask):
        out.append(
            func(*_each(tuple(args), take), **{k: _each(v, take) for k, v in kwargs.items()})
        )
    return out[0], out[1]


def _data_of(value: Any) -> Any:
    return _each(value, lambda t: t._masked_data)


def _refuse(name: str, why: str = "") -> NoReturn:
    raise ArgumentTypeError(
        f"{name}(): not supported for MaskedTensor{': ' + why if why else ''}",
        hint="get_data() and get_mask() give its parts, to_tensor(value) an ordinary tensor",
    )


def _apply(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """A public function of masked tensors."""
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    inplace = base != name or (
        name.startswith("__i") and name[3:-2] in ("add", "sub", "mul", "truediv", "div", "pow")
    )
    if base in _UNARY or base in _BINARY:
        return _elementwise(name, base, inplace, func, args, kwargs)
    if name in _PLACES:
        return _moved(name, func, args, kwargs)
    first = args[0]
    if not isinstance(first, MaskedTensor):
        _refuse(name)
    if name in _ALIKE:
        result = func(_data_of(first), *args[1:], **kwargs)
        return _make(result, first._masked_mask) if isinstance(result, Tensor) else result
    if name in _REDUCTIONS:
        return _reduced(name, first, *args[1:], **kwargs)
    if name == "norm":
        return _norm(first, *args[1:], **kwargs)
    if name == "all":
        return _all(first, *args[1:], **kwargs)
    if name in ("softmax", "log_softmax"):
        dim = args[1] if len(args) > 1 else kwargs["dim"]
        made = getattr(_normalizations, name)(
            first._masked_data, dim, dtype=kwargs.get("dtype"), mask=first._masked_mask
        )
        return _make(made, first._masked_mask)
    _refuse(name)


def _elementwise(name: str, base: str, inplace: bool, func: Any, args: Any, kwargs: Any) -> Any:
    masked = [a for a in args if isinstance(a, MaskedTensor)]
    if not masked:
        _refuse(name, "as a keyword argument")
    if base in _UNARY and any(isinstance(a, Tensor) for a in args[1:]):
        raise ArgumentTypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    mask = masked[0]._masked_mask
    if any(
        m._masked_mask.shape != mask.shape or not bool((m._masked_mask == mask).all().item())
        for m in masked[1:]
    ):
        raise ArgumentValueError(
            "Input masks must match. If you need support for this, please open an issue on Github."
        )
    if inplace and not isinstance(args[0], MaskedTensor):
        _refuse(name, "in place, with an ordinary tensor to write to")
    result = func(*_data_of(tuple(args)), **kwargs)
    if inplace:
        return args[0]
    return _make(result, F.expand(mask, shape=tuple(result.shape)))


def _moved(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    operands = (
        args[0]
        if args and isinstance(args[0], (list, tuple))
        else args[1:]
        if name == "where"
        else args[:1]
    )
    if not all(isinstance(t, MaskedTensor) for t in operands):
        _refuse(name, "together with ordinary tensors")
    data, mask = _both(func, args, kwargs)
    if isinstance(data, (list, tuple)):
        return type(data)(_make(d, m) for d, m in zip(data, mask))
    return _make(data, mask)


def _reduced(
    name: str, x: MaskedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any
) -> MaskedTensor:
    """A reduction of what is kept; masked where nothing is."""
    function = getattr(_reductions, name)
    if name in ("var", "std") and isinstance(dim, bool):
        _refuse(name, "with a positional `unbiased`")
    result = function(x._masked_data, dim=dim, keepdim=keepdim, mask=x._masked_mask, **kwargs)
    return _make(result, _left(x._masked_mask, dim, keepdim))


def _left(mask: Any, dim: Any, keepdim: bool) -> Any:
    dims = (
        tuple(range(mask.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    )
    return make_tensor(np.asarray(mask._array.any(axis=dims, keepdims=bool(keepdim))))


def _norm(
    x: MaskedTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> MaskedTensor:
    order = 2.0 if p in (None, "fro") else p
    return _make(
        _reductions.norm(
            x._masked_data, order, dim, keepdim=keepdim, dtype=dtype, mask=x._masked_mask
        ),
        _left(x._masked_mask, dim, keepdim),
    )


def _all(x: MaskedTensor, dim: Any = None, keepdim: bool = False) -> MaskedTensor:
    filled = x._masked_data.masked_fill(~x._masked_mask, True)
    made = filled.all() if dim is None else filled.all(dim, keepdim)
    return _make(made, _left(x._masked_mask, dim, keepdim))


def is_masked_tensor(obj: Any, /) -> TypeGuard[MaskedTensor]:
    """Whether `obj` is a MaskedTensor.

    >>> import pellucid as torch
    >>> from pellucid.masked import is_masked_tensor
    >>> is_masked_tensor(torch.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor with a copy of `data` and `mask`, outside the graph (as `torch.tensor`).

    Args:
        data: a real tensor. mask: a boolean one of the same size, True where an element counts.
        requires_grad: record what is done with it; `.grad` is a masked tensor.

    Raises:
        TypeError: no tensors, a dtype that is not supported, or a mask that is not boolean.
            ValueError: sizes differ.

    >>> import pellucid as torch
    >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([True, False, True]))
    >>> (x * 2).mean()
    MaskedTensor(  5.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor through which gradients flow back to `data`: they are 0 for masked elements.

    >>> import pellucid as torch
    >>> w = torch.tensor([4.0, 0.0], requires_grad=True)
    >>> torch.masked.as_masked_tensor(w, torch.tensor([True, False])).sqrt().sum().backward()
    >>> w.grad
    tensor([0.2500, 0.0000])
    """
    _checked(data, mask)
    if not data.requires_grad:
        return _make(data.clone(), mask.clone())
    # Even where the derivative at a masked element is not finite, nothing reaches it.
    return _make(FUNCTIONS["torch"]["where"](mask, data, data.detach()), mask.clone())
