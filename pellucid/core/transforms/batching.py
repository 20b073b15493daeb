"""Batched tensors, which `vmap` passes to the function that it maps.

A `Batched` represents one sample and holds all of them: a physical tensor with the batch dimension
first, and the level of its `vmap`. Its own array has the shape and dtype of one sample and cannot
be read. Code that looks at values therefore fails with `NeedsLoop`, and `vmap` maps the function
sample by sample instead. `core.interpret` sends operations on Batched arguments here. They run on
the physical tensors by the record's `batch` rule, or sample by sample. The autograd graph and
tangents belong to the physical tensors.
"""

from __future__ import annotations

import itertools
import textwrap
import threading
from collections.abc import Callable
from typing import Any

from ..._pytree import tree_flatten
from ...arrays import numpy_cpu
from ...arrays.meta import MetaArray
from ...errors import OperationError, warn
from ..bind import _check_types, _promote
from ..display import refusals
from ..function import Function
from ..inplace import overwrite
from ..interpret import playing
from ..modes import local
from ..primitive import TENSORS as F
from ..primitive import Primitive
from ..tensor import Tensor, set_requires_grad
from .capturing import innermost_maps


class NeedsLoop(NotImplementedError):
    """The function mapped by `vmap` does something that has no batched form, so it must run sample
    by sample.
    """


class BatchedArray(MetaArray):
    """Shape and dtype of one sample. Reading values, or using any other feature of an array, raises
    NeedsLoop.
    """

    __slots__ = ()
    device = "cpu"
    xp = numpy_cpu  # its functions refuse this array

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsLoop("vmap: the values of a batched tensor cannot be read")

    __hash__ = object.__hash__
    for _name in (
        "__array__ __array_function__ __array_ufunc__ __getitem__ __setitem__ __iter__ __len__ __bool__ __int__ __float__ __index__ __eq__ "
        "__ne__ __lt__ __le__ __gt__ __ge__ __neg__ __invert__ __abs__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ "
        "__rtruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__ __rmatmul__ __and__ __rand__ __or__ __ror__ "
        "__xor__ __rxor__"
    ).split():
        locals()[_name] = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NeedsLoop(f"vmap: the values of a batched tensor cannot be read ({name})")


class _Levels(threading.local):
    def __init__(self) -> None:
        self.stack: list[Level] = []


class Level:
    """One running `vmap`: its number, its batch size and the treatment of random operations
    ("error", "different" or "same").
    """

    __slots__ = ("looping", "number", "randomness", "size")

    def __init__(self, size: int, randomness: str) -> None:
        self.number = next(_numbers)
        self.size = size
        self.randomness = randomness
        self.looping = False  # True if it runs sample by sample, without Batched tensors


_numbers = itertools.count(1)
levels = _Levels()


class _Fallback:
    """What is to happen where something has no batched form."""

    allowed = True  # it runs sample by sample; else it is refused
    warns = False


fallback = _Fallback()


class Batched(Tensor):
    """A tensor that represents one sample of a batch; `_x["physical"]` holds all samples."""

    __slots__ = ()
    _keeps_type = False

    @property
    def requires_grad(self) -> bool:
        return physical(self)._rg

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not innermost_maps():  # `vmap` itself has no graph
            set_requires_grad(physical(self), value)
            self._rg = bool(value)

    @property
    def batch_size(self) -> int:
        """How many samples there are."""
        return int(physical(self)._array.shape[0])

    @property
    def is_leaf(self) -> bool:
        return physical(self).is_leaf

    @property
    def grad_fn(self) -> Any:
        return physical(self).grad_fn

    def detach(self) -> Tensor:
        """The samples outside the graph."""
        return batched(physical(self).detach(), level_of(self))

    @property
    def data(self) -> Tensor:
        """Not supported, as in PyTorch."""
        raise OperationError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Any) -> None:
        raise OperationError("mutating directly with `.data` under vmap transform is not allowed.")

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Not supported, as in PyTorch."""
        raise OperationError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead "
            "or call backward() outside of functorch transforms."
        )

    def item(self) -> Any:
        """Not supported: there is one value per sample."""
        raise OperationError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try "
            "to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file "
            "a bug report."
        )

    def __bool__(self) -> bool:
        raise OperationError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
            "please file an issue at https://github.com/pytorch/pytorch/issues ."
        )

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: there is one array per sample."""
        raise OperationError(
            "Cannot access data pointer of Tensor that doesn't have storage", op="numpy"
        )

    tolist = item
    __int__ = __float__ = __index__ = __complex__ = item
    __array__ = numpy

    def __repr__(self, **_: Any) -> str:
        inner = textwrap.indent(str(physical(self)), "    ")
        live = [level.number for level in levels.stack]
        depth = live.index(level_of(self)) + 1 if level_of(self) in live else level_of(self)
        return f"BatchedTensor(lvl={depth}, bdim=0, value=\n{inner}\n)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)


def physical(t: Tensor) -> Tensor:
    """The tensor of all samples, with the batch dimension first."""
    assert t._x is not None
    if t._x["array"] is not t._array:
        raise NeedsLoop(
            "vmap: a batched tensor was given another array (an in-place transposition, `.data = `, ...)"
        )
    return t._x["physical"]


def all_samples(t: Tensor) -> Tensor:
    """All samples of all batches that a tensor belongs to."""
    while type(t) is Batched:
        t = physical(t)
    return t


def level_of(t: Any) -> int:
    """The level of a Batched; 0 for any other tensor."""
    return t._x["level"] if type(t) is Batched and t._x is not None else 0


def batched(samples: Tensor, level: int) -> Tensor:
    """The Batched for samples that are stacked in the first dimension."""
    t: Tensor = object.__new__(Batched)
    array = samples._array
    t._array = BatchedArray(tuple(array.shape[1:]), array.dtype)
    t._node, t._rg, t._grad, t._ver, t._view = None, samples._rg, None, None, None
    t._x = {"physical": samples, "level": level, "array": t._array}
    return t


def _innermost(t: Any) -> int:
    """The highest level at which a tensor, or one of its tangents, is batched."""
    found = level_of(t)
    if found:
        found = max(found, _innermost(physical(t)))
    tangents = None if not isinstance(t, Tensor) or t._x is None else t._x.get("tangents")
    return max(found, *(_innermost(v) for v in tangents.values())) if tangents else found


def unwrap(t: Any, level: int, size: int = 0) -> tuple[Any, bool]:
    """(physical tensor, True) for a tensor batched at this level, otherwise (the tensor, False).

    If only its tangents are batched, the tensor is expanded, so that primal and tangents keep the
    same shape.
    """
    if level_of(t) == level:
        return physical(t), True
    tangents = None if not isinstance(t, Tensor) or t._x is None else t._x.get("tangents")
    if tangents and any(_innermost(v) == level for v in tangents.values()):
        plain = F.alias(t)
        plain.extra().pop("tangents", None)
        whole = spread(plain, size)
        whole.extra()["tangents"] = {
            k: part if at else spread(part, size)
            for k, (part, at) in ((k, unwrap(v, level, size)) for k, v in tangents.items())
        }
        return whole, True
    own = level_of(t)
    if own and _innermost(physical(t)) == level:
        inner, _ = unwrap(physical(t), level, size)
        return batched(swap(inner), own), True
    return t, False


def swap(t: Tensor) -> Tensor:
    """The first two dimensions exchanged."""
    return F.transpose(t, dim0=0, dim1=1)


def lower(t: Tensor, level: int, size: int) -> Tensor:
    """The tensor with the batch of a level as its first dimension, expanded if it is not batched
    there. The result stays batched at inner levels.
    """
    known = level_of(t)
    if known == level:
        return physical(t)
    if known > level:
        return batched(swap(lower(physical(t), level, size)), known)
    whole, found = unwrap(t, level, size)
    return whole if found else spread(t, size)


def lift(t: Tensor, level: int) -> Tensor:
    """The reverse of `lower`: the first dimension becomes the batch of a level."""
    known = level_of(t)
    if known > level:
        return batched(lift(swap(physical(t)), level), known)
    return batched(t, level)


def spread(t: Tensor, size: int) -> Tensor:
    """The tensor repeated in a new first dimension, without a copy."""
    return F.expand(t, shape=(size, *t._array.shape))


def wrap_in_all(t: Tensor) -> Tensor:
    """The tensor batched at every running level, so that each sample has its own gradient."""
    for level in levels.stack:
        if not level.looping:
            t = ensure(t, level)
    return t


def ensure(t: Tensor, level: Level) -> Tensor:
    """The tensor batched at a level, repeated if it is not yet."""
    known = level_of(t)
    if known == level.number:
        return t
    if known > level.number:
        # Already batched at an inner level: add the outer batch to the physical tensor.
        inner = ensure(physical(t), level)
        if level_of(inner) == level_of(physical(t)):
            return t
        return batched(inner, known)
    whole, found = unwrap(t, level.number, level.size)
    return batched(whole if found else spread(t, level.size), level.number)


# ---- operations ------------------------------------------------------------------------------
def aligned(values: list[Any], flags: list[bool]) -> list[Any]:
    """Physical tensors reshaped so that their samples broadcast: dimensions of size 1 are inserted
    after the batch dimension.
    """
    wide = max(
        v._array.ndim - f for v, f in zip(values, flags, strict=True) if isinstance(v, Tensor)
    )
    out = []
    for v, f in zip(values, flags, strict=True):
        missing = wide + 1 - v._array.ndim if f else 0
        if missing:
            shape = v._array.shape
            v = F.reshape(v, shape=(shape[0], *(1,) * missing, *shape[1:]))
        out.append(v)
    return out


class Batch:
    """One operation on a batch; the argument of a record's batching rule.

    `b[k]` is argument k with all its samples, batch dimension first (`b.flags[k]` says whether it
    is batched). `b.p` holds the parameters for one sample, and `b.ndim` is the number of dimensions
    of a sample of the first argument. A rule returns the result with the batch dimension first, or
    None, in which case the operation runs sample by sample.
    """

    __slots__ = ("flags", "op", "p", "size", "values")

    F = F
    aligned = staticmethod(aligned)

    def __init__(
        self, op: Primitive, size: int, values: list[Any], flags: list[bool], params: dict[str, Any]
    ) -> None:
        self.op, self.size, self.values, self.flags, self.p = op, size, values, flags, params

    def __getitem__(self, k: int) -> Any:
        return self.values[k]

    @property
    def ndim(self) -> int:
        """Dimensions of a sample of the first argument."""
        return self.values[0]._array.ndim - self.flags[0]

    @property
    def first_only(self) -> bool:
        """Whether only the first argument is batched."""
        return self.flags[0] and True not in self.flags[1:]

    def call(self, *values: Any, **changed: Any) -> Any:
        """Call the operation with some parameters changed."""
        return self.op.call(*values, **{**self.p, **changed})

    def whole(self) -> list[Any]:
        """All arguments with the batch dimension first; those that are not batched are expanded."""
        return [
            v if f or v is None else spread(v, self.size)
            for v, f in zip(self.values, self.flags, strict=True)
        ]

    def shifted(self, dim: Any) -> Any:
        """Convert a dimension of a sample, or several, to dimensions of the batch: non-negative
        ones move by one.
        """
        if dim is None:
            return tuple(range(1, self.ndim + 1))
        if isinstance(dim, (tuple, list)):
            return tuple(self.shifted(d) for d in dim)
        return dim + 1 if dim >= 0 else dim

    def along_dims(self) -> Any:
        """Run the operation with all parameters that name dimensions shifted."""
        return self.call(
            *self.whole(), **{k: self.shifted(v) for k, v in self.p.items() if k in _DIM_WORDS}
        )

    def fold(self, x: Any) -> Any:
        """Merge the samples, each a batch of images, into one batch of images."""
        shape = x._array.shape
        return F.reshape(x, shape=(shape[0] * shape[1], *shape[2:]))

    def unfold(self, x: Any) -> Any:
        """The reverse of `fold`."""
        shape = x._array.shape
        # with a batch of 0 samples, their size is unknown
        size = self.size and shape[0] // self.size
        return F.reshape(x, shape=(self.size, size, *shape[1:]))


_DIM_WORDS = frozenset({"dim", "dims", "dim0", "dim1", "dim2"})

# The batching rules that a record's `batch` can name by a word.
WAYS: dict[str, Callable[[Batch], Any]] = {
    "elementwise": lambda b: b.call(*aligned(b.values, b.flags)),
    "dims": lambda b: (
        b.along_dims() if b.ndim and all(x._array.ndim == b.ndim + 1 for x in b.whole()) else None
    ),
    "leading": lambda b: b.call(*b.whole()),
}


def run(below: Any, op: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run an operation with Batched arguments."""
    level = max(_innermost(x) for x in args)
    for value in params.values():
        if isinstance(value, (Batched, BatchedArray)):
            raise NeedsLoop(f"vmap: a parameter of {op.name} differs from sample to sample")
    tensors = _check_types(op, args)
    if op.promote is not None:
        # Promote by the rules for one sample: a batch of scalars still counts as scalars.
        tensors, _ = _promote(op, tensors)
    size = next((physical(x)._array.shape[0] for x in tensors if level_of(x) == level), 0) or _size(
        level
    )
    pairs = [unwrap(x, level, size) for x in tensors]
    values, flags = [v for v, _ in pairs], [f for _, f in pairs]
    rule = WAYS.get(op.batch, op.batch)
    result = None if rule is None else rule(Batch(op, size, values, flags, params))
    if result is None:
        result = one_by_one(op, size, values, flags, params)
    if isinstance(result, tuple):
        return tuple(batched(r, level) for r in result)
    return batched(result, level)


def _size(level: int) -> int:
    return next((known.size for known in levels.stack if known.number == level), 0)


def one_by_one(
    op: Primitive, size: int, values: list[Any], flags: list[bool], params: dict[str, Any]
) -> Any:
    """Run the operation sample by sample and stack the results. This is always correct."""
    if op.view or not size:
        raise NeedsLoop(f"vmap: {op.name} has no batched form")
    fall_back(op.overload or op.name)
    rows = []
    for k in range(size):
        rows.append(
            op.call(
                *[
                    F.select(v, dim=0, index=k) if f else v
                    for v, f in zip(values, flags, strict=True)
                ],
                **params,
            )
        )
    with playing("autocast", None):  # the samples have the types that the operation gave them
        if isinstance(rows[0], tuple):
            return tuple(F.stack(*column, dim=0) for column in zip(*rows, strict=True))
        return F.stack(*rows, dim=0)


def fall_back(name: str) -> None:
    """Something is about to run sample by sample.

    Raises:
        RuntimeError: this is switched off.
    """
    if not fallback.allowed:
        raise OperationError(f"aten::{name} hit the vmap fallback which is currently disabled")
    if fallback.warns:
        warn(
            f"There is a performance drop because we have not yet implemented the batching rule for aten::{name}. Please file us an "
            "issue on GitHub so that we can prioritize its implementation."
        )


def write(below: Any, t: Tensor, result: Tensor, name: str) -> Tensor:
    """An in-place operation on Batched tensors: the samples take the result's values."""
    level = max(level_of(t), level_of(result))
    if level_of(t) != level:
        raise larger(name)
    target, (value, is_batched) = physical(t), unwrap(result, level, physical(t)._array.shape[0])
    if not is_batched:
        value = spread(value, target._array.shape[0])
    overwrite(target, value, name)
    t._rg = target._rg
    return t


def _without_out(name: str, target: Any, args: tuple[Any, ...]) -> None:
    """Refuse `out=` where samples take part: it would hold the last of them."""
    if not levels.stack:
        return
    for x in (target, *args):
        for t in x if isinstance(x, (tuple, list)) else (x,):
            if type(t) is Batched:
                raise OperationError(
                    f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops."
                )


refusals.WITHOUT_OUT.append(_without_out)


def larger(name: str) -> Exception:
    """What refuses to write the values of all samples into a tensor that they share."""
    return OperationError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
        "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please "
        f"try to use out-of-place operators instead of {name}. If said operator is being called inside the PyTorch framework, please "
        "file a bug report instead."
    )


def to_front(x: Any, dim: int) -> Any:
    ndim = x._array.ndim
    return x if dim == 0 else F.permute(x, dims=(dim, *[d for d in range(ndim) if d != dim]))


class _Info:
    """The `info` argument of a Function's `vmap` method."""

    def __init__(self, batch_size: int, randomness: str) -> None:
        self.batch_size = batch_size
        self.randomness = randomness


def apply(below: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a custom Function on Batched arguments by its `vmap` rule. Without a rule, NeedsLoop is
    raised.
    """
    number = max(level_of(x) for x in args)
    rule: Any = getattr(cls, "vmap", None)
    split = cls.setup_context is not Function.setup_context  # `_apply` refuses the other style
    if split and (rule is not Function.vmap) is bool(cls.generate_vmap_rule):
        raise OperationError(refusals.unclear_rule(cls))
    if rule is Function.vmap:
        raise NeedsLoop(f"vmap: {cls.__name__} has no vmap rule")
    level = next(known for known in levels.stack if known.number == number)
    pairs = [unwrap(x, number, level.size) for x in args]
    found = rule(
        _Info(level.size, level.randomness),
        tuple(0 if f else None for _, f in pairs),
        *[v for v, _ in pairs],
        **kwargs,
    )
    out, dims = _two(found)
    several = isinstance(out, tuple)
    outs = out if several else (out,)
    if isinstance(dims, (tuple, list)) and not (several and len(dims) == len(outs)):
        raise OperationError(
            f"The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={dims} to "
            f"be compatible with the structure of `output`. out_dims has structure {tree_flatten(dims)[1]} but output has structure "
            f"{tree_flatten(out)[1]}. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if (
        local.grad
        and any(v._rg for v, _ in pairs if isinstance(v, Tensor))
        and not any(o._rg for o in outs if isinstance(o, Tensor))
    ):
        raise NeedsLoop(f"vmap: the rule of {cls.__name__} computes without a graph")
    places = (dims if isinstance(dims, tuple) else (dims,) * len(outs)) if several else (dims,)
    made = tuple(
        o
        if d is None or not isinstance(o, Tensor)
        else batched(to_front(o, d % o._array.ndim), number)
        for o, d in zip(outs, places, strict=True)
    )
    return made if several else made[0]


def _two(found: Any) -> tuple[Any, Any]:
    """What a Function's `vmap` returned: its output, and where the batch is in it."""
    wanted = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
    if not isinstance(found, tuple):
        raise OperationError(f"{wanted}Got a {type(found)} instead")
    if len(found) != 2:
        raise OperationError(f"{wanted}Got {len(found)} returns instead")
    return found


class _Batching:
    """The interpreter of batched tensors."""

    run, write, apply = staticmethod(run), staticmethod(write), staticmethod(apply)


Batched._interpreter = _Batching


def draw_guard() -> None:
    """Raise an error before random numbers are drawn if the running `vmap` levels forbid it, or if
    each sample needs its own numbers (NeedsLoop).
    """
    modes = {(level.randomness, level.looping) for level in levels.stack}
    if any(mode == "error" for mode, _ in modes):
        raise refused_draw()
    if ("different", False) in modes:
        raise NeedsLoop("vmap: each sample draws its own random numbers")


def refused_draw() -> Exception:
    """What a draw raises where the mode is "error"."""
    return OperationError(
        "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
        "flags on vmap or perform the randomness operation out of vmap"
    )
