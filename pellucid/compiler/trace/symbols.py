"""Arrays that record the operations applied to them, with which the compiler runs gradient rules.

A gradient rule is written in operations (`F.name(...)`) and arithmetic on arrays. Run on
`TracedArray`s with a `Namespace` for `F`, it computes its real result and adds its operations to
the program. A rule that does anything else (passes the array to a kernel, reads its values) raises
`Unsupported` and is recorded as a single instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays import numpy_cpu
from ...arrays.halves import HALVES
from ...core.primitive import PRIMITIVES
from .watch import unseen

_F32 = np.dtype(np.float32)

# Operations whose result shape depends on values, so that it may differ at the next call.
DATA_DEPENDENT = frozenset(
    "nonzero masked_select unique unique_consecutive unique_dim bincount repeat_interleave argwhere histc masked_scatter".split()
)


class Unsupported(TypeError):
    """A rule did something with an array that is not an operation."""


class Namespace:
    """The namespace `F` for a traced rule: an operation's name gives a function on TracedArrays."""

    raw = True

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.xp = tracer, numpy_cpu  # its functions reject TracedArrays

    def constant(self, array: Any) -> Any:
        """Return an array through which no gradient flows, unchanged."""
        return array

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = PRIMITIVES.get(name)
        if op is None:
            raise AttributeError(f"a rule names the operation {name!r}, which does not exist")

        def function(*args: Any, **params: Any) -> Any:
            return self.apply(op, args, params)

        setattr(self, name, function)
        return function

    @unseen
    def apply(self, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an operation on arrays and record it."""
        if not any(isinstance(a, TracedArray) for a in args) and any(
            isinstance(a, (list, tuple)) for a in args
        ):
            raise Unsupported(op.name)
        arrays = self.unwrap(args)
        params = self.unwrap(params)
        if (
            op.name in DATA_DEPENDENT
            or op.name == "index"
            and any(a.dtype == bool for a in arrays[1:])
        ):
            raise Unsupported(f"the shape of {op.name}'s result depends on values")
        result = op.numpy_forward(*arrays, **params)
        aux = None
        if op.aux and type(result) is tuple:
            result, aux = result
        if not any(type(a) is ndarray for a in arrays) and (
            isinstance(result, (bool, int, float, complex, np.generic))
        ):
            # computed from numbers only
            return result.item() if isinstance(result, np.generic) else result
        tracer = self.tracer
        several = op.outputs != 1
        made = [
            r if type(r) is ndarray else np.asarray(r) for r in (result if several else (result,))
        ]
        inputs = tuple(tracer.value(a, op.name) if type(a) is ndarray else a for a in arrays)
        if not any(type(a) is ndarray for a in arrays):
            # It depends on shapes only, so it is a constant.
            for a in made:
                tracer.constant(a)
                tracer.value(a)
        else:
            tracer.emit(op, inputs, tracer.tree(params, op.name), made, aux)
        return tuple(TracedArray(a, self) for a in made) if several else TracedArray(made[0], self)

    def widened(self, value: Any) -> Any:
        """Cast a TracedArray of two-byte floats to float32; return anything else unchanged."""
        return (
            self.cast(value, dtype=_F32)
            if type(value) is TracedArray and value.array.dtype in HALVES
            else value
        )

    def wrap(self, value: Any) -> Any:
        """Replace arrays by TracedArrays."""
        if type(value) is ndarray:
            return TracedArray(value, self)
        if isinstance(value, tuple):
            made = [self.wrap(v) for v in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, list):
            return [self.wrap(v) for v in value]
        if isinstance(value, dict):
            return {k: self.wrap(v) for k, v in value.items()}
        return value

    def unwrap(self, value: Any) -> Any:
        """Replace TracedArrays by arrays."""
        if isinstance(value, TracedArray):
            return value.array
        if isinstance(value, tuple):
            made = [self.unwrap(v) for v in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, list):
            return [self.unwrap(v) for v in value]
        if isinstance(value, dict):
            return {k: self.unwrap(v) for k, v in value.items()}
        return value


def _binary(name: str, swapped: bool = False) -> Callable[..., Any]:
    def method(self: TracedArray, other: Any) -> Any:
        if isinstance(other, ndarray):
            # a plain array, from outside of the rule's operations
            self.space.tracer.value(other)
        op = PRIMITIVES[name]
        return self.space.apply(op, (other, self) if swapped else (self, other), {})

    return method


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: self.space.apply(PRIMITIVES[name], (self,), {})


class TracedArray:
    """An array whose operations are recorded."""

    __slots__ = ("array", "space")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: ndarray, space: Namespace) -> None:
        self.array = array
        self.space = space

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.array.shape

    @property
    def dtype(self) -> Any:
        """The array's NumPy dtype."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.array.size

    @property
    def mT(self) -> TracedArray:  # noqa: N802
        """A view with the last two dimensions exchanged."""
        return TracedArray(self.array.mT, self.space)

    def reshape(self, *shape: Any) -> Any:
        """A view if possible, otherwise a copy."""
        made = self.array.reshape(*shape)
        if np.may_share_memory(made, self.array) or not made.size:
            return TracedArray(made, self.space)
        return self.space.apply(PRIMITIVES["reshape"], (self,), {"shape": made.shape})

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The values in another NumPy dtype; `self` if it has that dtype."""
        return (
            self
            if self.dtype == dtype
            else self.space.apply(PRIMITIVES["cast"], (self,), {"dtype": np.dtype(dtype)})
        )

    def __getitem__(self, index: Any) -> TracedArray:
        """A part, selected by integers, slices, None and Ellipsis."""
        for item in index if type(index) is tuple else (index,):
            if type(item) not in (int, slice, type(None), type(...)):
                raise Unsupported("a rule asks for elements at positions")
        made = self.array[index]
        return TracedArray(made if type(made) is ndarray else self.array[index, ...], self.space)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise Unsupported("a rule asks for the values of an array")

    def __bool__(self) -> bool:
        raise Unsupported("a rule decides by the values of an array")

    def __len__(self) -> int:
        raise Unsupported("a rule asks for the values of an array")

    def __iter__(self) -> Any:
        raise Unsupported("a rule asks for the values of an array")

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("div"), _binary("div", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __eq__, __ne__ = _binary("eq"), _binary("ne")
    __and__, __or__, __xor__ = _binary("bitwise_and"), _binary("bitwise_or"), _binary("bitwise_xor")
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("bitwise_not")
