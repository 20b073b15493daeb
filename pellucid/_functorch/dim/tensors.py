"""Tensors with first-class dimensions.

Such a tensor is an ordinary tensor and, for each of its dimensions, a level: a `Dim`, or the
position of a dimension that has none, counted from the end (-1 is the last). An operation runs under
one `vmap` for each `Dim` of its arguments, so whatever has a rule for batches has one for these.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ... import _pytree as pytree
from ...api import overriding
from ...core.public import FUNCTIONS, METHODS, PROPERTIES
from ...core.tensor import Tensor as PlainTensor
from ...errors import forwarding
from ...func import vmap
from ...ops._overloads import overloads

forwarding.add(__file__)


class DimensionBindError(Exception):
    """A dimension that has a size already, or none."""


class DimensionMismatchError(Exception):
    """Dimensions that do not fit together."""


class _Tensor:
    """What `Dim` and `Tensor` have in common: the functions and methods of tensors."""

    def _parts(self) -> tuple[PlainTensor, tuple[Any, ...]]:
        """The ordinary tensor, and the level of each of its dimensions."""
        raise NotImplementedError

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple([level for level in self._parts()[1] if isinstance(level, Dim)])

    @property
    def ndim(self) -> int:
        return sum(not isinstance(level, Dim) for level in self._parts()[1])

    def dim(self) -> int:
        return self.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        plain, levels = self._parts()
        sizes = zip(plain.shape, levels, strict=True)
        return tuple([size for size, level in sizes if not isinstance(level, Dim)])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(func, args, kwargs or {})

    def order(self, *dims: Any) -> Any:
        """The tensor with dimensions as its first positional ones.

        Args:
            dims: a `Dim`, the number of a positional dimension, or several of them in a tuple, which
                become one dimension.

        Raises:
            ValueError: a dimension that the tensor does not have, or named twice.
        """
        plain, levels = self._parts()
        left = list(levels)
        spread = [d for each in dims for d in (each if isinstance(each, DimList) else (each,))]
        groups = [_group(each, self.ndim) for each in spread]
        for each in [d for group in groups for d in group]:
            place = place_of(left, each)
            if place is None:
                raise ValueError(f"tensor does not contain dim {each} or it was specified twice")
            left.pop(place)
        kept = [level for level in left if isinstance(level, Dim)]
        last = [level for level in left if not isinstance(level, Dim)]
        flat = [d for group in groups for d in group]
        moved = plain.permute([place_of(levels, d) for d in (*kept, *flat, *last)])
        if len(flat) != len(groups):
            sizes = iter(moved.shape[len(kept) :])
            merged = [math.prod([next(sizes) for _ in group]) for group in groups]
            moved = moved.reshape((*moved.shape[: len(kept)], *merged, *sizes))
        return joined(moved, kept)

    def index(self, positions: Any, dims: Any) -> Any:
        """What is at a position of a dimension: `x.index(i, 0)` where `x.order(i)[0]` is meant.

        Args:
            positions: a dimension, or a list of them.
            dims: an index for each: a number, a tensor, or another dimension.
        """
        many = isinstance(positions, (list, tuple)) and isinstance(dims, (list, tuple))
        if not many:
            positions, dims = (positions,), (dims,)
        if len(positions) != len(dims):
            raise TypeError(f"expected {len(positions)} indices but found {len(dims)}")
        return self.order(*positions)[tuple(dims)]

    def expand(self, *sizes: Any) -> Any:
        """The tensor with further dimensions, along which it repeats itself.

        Args:
            sizes: dimensions that have a size; or sizes of the positional dimensions.

        Raises:
            DimensionBindError: a dimension that the tensor has.
        """
        if not all(isinstance(size, Dim) for size in sizes):
            return call(PlainTensor.expand, (self, *sizes), {})
        plain, levels = self._parts()
        for k, each in enumerate(sizes):
            if any(each is level for level in (*levels, *sizes[:k])):
                raise DimensionBindError(
                    f"expanding dimension {each} already exists in tensor with dims"
                )
        shape = [each.size for each in sizes]
        return Tensor(plain.expand(*shape, *plain.shape), (*sizes, *levels))

    def split(self, split_size_or_sections: Any, dim: Any = 0) -> Any:
        """Consecutive parts, as `functorch.dim.split` gives them."""
        return call(PlainTensor.split, (self, split_size_or_sections, dim), {})

    def __getitem__(self, index: Any) -> Any:
        return call(PlainTensor.__getitem__, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        call(PlainTensor.__setitem__, (self, index, value), {})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter([self[k] for k in range(len(self))])

    def __repr__(self) -> str:
        plain, levels = self._parts()
        names = [level if isinstance(level, Dim) else level + self.ndim for level in levels]
        listed = [f"({', '.join(map(str, x))}{',' * (len(x) == 1)})" for x in (names, plain.shape)]
        return f"{plain!r}\nwith dims={listed[0]} sizes={listed[1]}"

    def __str__(self) -> str:
        return repr(self)

    __hash__ = object.__hash__


class Tensor(_Tensor):
    """A tensor with first-class dimensions; indexing with them makes one."""

    def __init__(self, plain: PlainTensor | None, levels: Sequence[Any], factors: Any = None):
        self._plain, self._levels, self._factors = plain, tuple(levels), factors

    def _parts(self) -> tuple[PlainTensor, tuple[Any, ...]]:
        if self._plain is None:
            product = _batched(PlainTensor.mul, self._factors, {}, list(self._factors))
            self._plain, self._levels = product._parts()
            self._factors = None
        return self._plain, self._levels


class Dim(_Tensor):
    """A dimension. In arithmetic it is the tensor of its positions.

    Args:
        name: what messages call it.
        s: its size; by default the first index that has it tells.

    >>> import pellucid as torch
    >>> from pellucid._functorch.dim import Dim
    >>> i, j = Dim("i", 2), Dim("j", 3)
    >>> (i * 10 + j).order(i, j)
    tensor([[ 0,  1,  2],
            [10, 11, 12]])
    """

    def __init__(self, name: str, s: int = -1):
        self._name, self._size = name, s
        self._positions: PlainTensor | None = None

    @property
    def size(self) -> int:
        """The number of positions."""
        if self._size == -1:
            raise ValueError(f"dimension {self._name} is unbound")
        return self._size

    @size.setter
    def size(self, value: int) -> None:
        if self._size not in (-1, value):
            raise DimensionBindError(
                f"Dim '{self._name}' previously bound to a dimension of size {self._size} "
                f"cannot bind to a dimension of size {value}"
            )
        self._size = value

    @property
    def is_bound(self) -> bool:
        """Whether it has a size."""
        return self._size != -1

    def _parts(self) -> tuple[PlainTensor, tuple[Any, ...]]:
        if self._positions is None:
            self._positions = FUNCTIONS["torch"]["arange"](self.size)
        return self._positions, (self,)

    def __repr__(self) -> str:
        return self._name


class DimList:
    """A list of dimensions whose number may be found out later: an index binds it to the dimensions
    that are left.

    >>> import pellucid as torch
    >>> from pellucid._functorch.dim import dimlists
    >>> rest = dimlists()
    >>> torch.ones(2, 3)[rest,].order(rest[1], rest[0]).shape
    torch.Size([3, 2])
    """

    def __init__(self, len_or_dims: int | Sequence[Any] | None = None, name: str | None = None):
        self._name = name
        self._dims: list[Dim] | None = None
        if isinstance(len_or_dims, int):
            self.bind_len(len_or_dims)
        elif len_or_dims is not None:
            self._dims = [
                Dim(self._part(k), item) if isinstance(item, int) else Dim(item)
                for k, item in enumerate(len_or_dims)
            ]

    def _part(self, k: int) -> str:
        return f"{self._name or 'dim'}{k}"

    def _bound(self) -> list[Dim]:
        if self._dims is None:
            raise DimensionBindError("DimList not bound")
        return self._dims

    @property
    def is_bound(self) -> bool:
        """Whether the number of dimensions is known."""
        return self._dims is not None

    def bind_len(self, size: int) -> None:
        """Make it a list of this many dimensions.

        Args:
            size: how many.

        Raises:
            DimensionBindError: a list of another number.
        """
        if self._dims is None:
            self._dims = [Dim(self._part(k)) for k in range(size)]
        elif len(self._dims) != size:
            raise DimensionBindError(
                f"Dimlist has size {len(self._dims)} but it is being bound to size {size}"
            )

    def bind(self, sizes: Sequence[int]) -> None:
        """Make it a list of dimensions of these sizes.

        Args:
            sizes: one size for each dimension.

        Raises:
            ValueError: sizes that are no sequence.
        """
        if not hasattr(sizes, "__len__") or not hasattr(sizes, "__getitem__"):
            raise ValueError("expected a sequence")
        self.bind_len(len(sizes))
        for each, size in zip(self._bound(), sizes, strict=True):
            each.size = int(size)

    def size(self) -> int:
        """The number of dimensions."""
        return len(self._bound())

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Dim]:
        return iter(self._bound())

    def __getitem__(self, key: Any) -> Any:
        dims = self._bound()
        if isinstance(key, slice):
            return tuple(dims[key])
        if not isinstance(key, int):
            raise ValueError("expected an int or a slice")
        if not 0 <= key < len(dims):
            raise IndexError("index out of bounds")
        return dims[key]

    def __repr__(self) -> str:
        if self._dims is not None:
            return f"({', '.join(map(repr, self._dims))})"
        return "<unbound_dimlist>" if self._name is None else f"*{self._name}"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _Tensor.__torch_function__(func, types, args, kwargs)


def joined(plain: PlainTensor, dims: Sequence[Any]) -> Any:
    """A tensor whose first dimensions are these; without any the plain tensor itself."""
    if not dims:
        return plain
    return Tensor(plain, (*dims, *range(len(dims) - plain.dim(), 0)))


def bound(x: Any, place: int, dim: Dim) -> Any:
    """The tensor with a positional dimension as a first-class one."""
    plain, levels = parts(x)
    ndim = sum(not isinstance(level, Dim) for level in levels)
    wanted = place - ndim if place >= 0 else place
    at = place_of(levels, wanted)
    if at is None:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {place})"
        )
    dim.size = plain.shape[at]
    new = [level + (level < wanted) if not isinstance(level, Dim) else level for level in levels]
    new[at] = dim
    return Tensor(plain, new)


def parts(x: Any) -> tuple[PlainTensor, tuple[Any, ...]]:
    """The ordinary tensor and the levels of a tensor of either kind."""
    return x._parts() if isinstance(x, _Tensor) else (x, tuple(range(-x.dim(), 0)))


def _group(entry: Any, ndim: int) -> tuple[Any, ...]:
    """The dimensions that one argument of `order` names."""
    entries = (entry,) if isinstance(entry, (Dim, int)) else tuple(entry)
    return tuple([e - ndim if isinstance(e, int) and e >= 0 else e for e in entries])


def place_of(levels: Sequence[Any], wanted: Any) -> int | None:
    """Where a level is. (`==` of dimensions compares their positions.)"""
    for k, level in enumerate(levels):
        if level is wanted or type(level) is type(wanted) is int and level == wanted:
            return k
    return None


# What has rules of its own for dimensions, where one is written: indexing, and splitting by them.
OF_DIMS: dict[str, Callable[..., Any]] = {}


# ---- calls -------------------------------------------------------------------------------------
def call(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a function of plain tensors gives for tensors with dimensions."""
    name = getattr(func, "__name__", "")
    if name in _NUMBERS and args[0].dims:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if name in OF_DIMS:
        return OF_DIMS[name](*args, **kwargs)
    if args and isinstance(args[0], _Tensor) and (place := _place_of_dim(name)) is not None:
        named, args, kwargs = _named_dims(place, args, kwargs)
        if named is not None:
            return _along(func, place, named, args, kwargs)
    found = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, _Tensor)]
    if name in ("mul", "__mul__", "__rmul__", "multiply") and len(found) == 2 == len(args):
        # kept as two factors: a sum over their dimensions is a product of matrices
        levels = [x._parts()[1] for x in found]
        if not kwargs and all(x.dims and not x.ndim for x in found) and _floating(found):
            return Tensor(None, list(dict.fromkeys((*levels[0], *levels[1]))), tuple(found))
    return _batched(func, args, kwargs, found)


def _floating(values: Sequence[Any]) -> bool:
    kinds = {x._parts()[0].dtype for x in values}
    return len(kinds) == 1 and kinds.pop().is_floating_point


def _batched(func: Any, args: Sequence[Any], kwargs: Any, found: list[Any]) -> Any:
    """A call under one `vmap` for each dimension of its arguments."""
    leaves, spec = pytree.tree_flatten((tuple(args), kwargs))
    tensors = [x._parts() for x in found]
    dims = list(dict.fromkeys(d for _, levels in tensors for d in levels if isinstance(d, Dim)))
    shell: list[Any] = []

    def run(values: Sequence[PlainTensor]) -> tuple[PlainTensor, ...]:
        given = iter(values)
        inner = [next(given) if isinstance(x, _Tensor) else x for x in leaves]
        call_args, call_kwargs = pytree.tree_unflatten(inner, spec)
        out, form = pytree.tree_flatten(func(*call_args, **call_kwargs))
        shell[:] = [out, form]
        return tuple([x for x in out if isinstance(x, PlainTensor)])

    def level(k: int, values: Sequence[PlainTensor], names: list[list[Any]]) -> Any:
        if k == len(dims):
            return run(values)
        places = [place_of(n, dims[k]) for n in names]
        rest = [[d for d in n if d is not dims[k]] for n in names]
        mapped = vmap(
            lambda *inner: level(k + 1, inner, rest),
            in_dims=tuple(places),
            out_dims=0,
            randomness="different",
        )
        return mapped(*values)

    results = level(0, [plain for plain, _ in tensors], [list(n) for _, n in tensors])
    given = iter([joined(x, dims) for x in results])
    out, form = shell
    return pytree.tree_unflatten(
        [next(given) if isinstance(x, PlainTensor) else x for x in out], form
    )


# ---- functions of a dimension ----------------------------------------------------------------
@functools.cache
def _place_of_dim(name: str) -> int | None:
    """Where a function's `dim` stands among its arguments, by PyTorch's signatures of the method."""
    known = overloads(f"Tensor.{name}")
    for signature in known.signatures if known is not None else ():
        for place, each in enumerate(signature.partition("*")[0].strip("(), ").split(", ")):
            kind, _, word = each.partition(" =")[0].rpartition(" ")
            if word in _WORDS and ("int dim" in each or "ints" in kind):
                return place + 1
    return None


_WORDS = ("dim", "dims", "axis")


_NUMBERS = ("__float__", "__int__", "__bool__", "__complex__", "item")


def _is_dims(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(isinstance(v, Dim) for v in value)
    return isinstance(value, Dim)


def _named_dims(place: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The dimensions that a call names (None: no first-class one), and the call without them."""
    for word in _WORDS:
        if _is_dims(kwargs.get(word)):
            return kwargs[word], args, {k: v for k, v in kwargs.items() if k != word}
    if len(args) > place and _is_dims(args[place]):
        return args[place], (*args[:place], None, *args[place + 1 :]), kwargs
    return None, args, kwargs


def _along(func: Any, place: int, named: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, single = args[0], not isinstance(named, (tuple, list))
    wanted = [named] if single else list(named)
    moved = [d for d in wanted if isinstance(d, Dim)]
    if kwargs.get("keepdim"):
        raise ValueError("cannot preserve first-class dimensions with keepdim=True")
    factors = x._factors if isinstance(x, Tensor) else None
    if (
        func.__name__ == "sum"
        and factors
        and len(moved) == len(wanted)
        and not kwargs
        and len(args) <= 2
    ):
        return _contracted(factors, moved)
    y = x.order(*moved)
    first = -(x.ndim + len(moved))
    places = [
        first + (place_of(moved, d) or 0) if isinstance(d, Dim) else d - x.ndim if d >= 0 else d
        for d in wanted
    ]
    value = places[0] if single else tuple(places)
    if len(args) > place:
        args = (y, *args[1:place], value, *args[place + 1 :])
    else:
        args, kwargs = (y, *args[1:]), {**kwargs, "dim": value}
    result = call(func, args, kwargs) if isinstance(y, _Tensor) else func(*args, **kwargs)

    def back(r: Any) -> Any:
        """A result with the dimensions again, where the function does not reduce them."""
        if not isinstance(r, (PlainTensor, _Tensor)) or r.dim() < -first:
            return r
        for each in moved:  # it is the first of the positional ones that are left
            r = bound(r, 0, each)
        return r

    return pytree.tree_map(back, result, is_leaf=lambda r: isinstance(r, _Tensor))


def _contracted(factors: Sequence[Any], summed: Sequence[Dim]) -> Any:
    """The sum over dimensions of a product, as one product of matrices."""
    (a, over_a), (b, over_b) = [x._parts() for x in factors]
    every = list(dict.fromkeys((*over_a, *over_b)))
    for each in summed:
        if place_of(every, each) is None:
            raise ValueError(f"summing over non-existent dimension {each}")
    kept = [d for d in every if place_of(summed, d) is None]
    number = {d: k for k, d in enumerate(every)}
    letters = [[number[d] for d in levels] for levels in (over_a, over_b, kept)]
    return joined(FUNCTIONS["torch"]["einsum"](a, letters[0], b, letters[1], letters[2]), kept)


# ---- methods of tensors ------------------------------------------------------------------------
def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(getattr(PlainTensor, name), (self, *args), kwargs)

    method.__name__ = name
    return method


def _property(name: str) -> property:
    def get(self: Any) -> Any:
        plain, levels = self._parts()
        value = getattr(plain, name)
        if isinstance(value, PlainTensor):
            return call(lambda x: getattr(x, name), (self,), {})
        return value

    return property(get)


# Special methods that are no operation on values.
_OWN = {
    *"__init__ __new__ __class__ __dict__ __reduce__ __reduce_ex__ __format__ __dir__ __setstate__".split(),
    *"__deepcopy__ __array__ __dlpack__ __dlpack_device__ __torch_dispatch__ __index__".split(),
}


def _attach(names: Iterable[str]) -> None:
    for name in names:
        if name in _OWN or name in vars(_Tensor):
            continue
        value = getattr(PlainTensor, name, None)
        if isinstance(value, property) or name in _DATA:
            setattr(_Tensor, name, _property(name))
        elif callable(value):
            setattr(_Tensor, name, _method(name))


_DATA = ("dtype", "device", "requires_grad", "grad", "grad_fn", "is_leaf", "layout")
_attach([*METHODS, *PROPERTIES, *_DATA, *_NUMBERS, "backward"])
overriding.ask_for(_Tensor)
