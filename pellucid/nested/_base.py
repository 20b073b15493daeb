"""What both layouts of nested tensors share: how functions reach them, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..api.overriding import DisableTorchFunctionSubclass, NoArray, public_name
from ..core.primitive import PRIMITIVES
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..errors import UnsupportedError

Handler = Callable[..., Any]

# Functions that treat each element by itself and are not named after an element-wise operation.
_POINTWISE = (
    "dropout alpha_dropout feature_alpha_dropout native_dropout relu6 selu celu hardshrink softshrink softsign tanhshrink "
    "threshold logsigmoid rrelu clip clamp_min clamp_max fill zero true_divide rsub isclose __add__ __radd__ __sub__ "
    "__rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __rdiv__ __pow__ __rpow__ __mod__ __floordiv__ __neg__ __pos__ "
    "__abs__ __invert__ __and__ __or__ __xor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __iadd__ __isub__ __imul__ "
    "__itruediv__ __ipow__"
).split()
# Functions that copy, convert or make anew, with the same arrangement.
_ALIKE = (
    "to float double half bfloat16 int long short bool type type_as clone detach cpu zeros_like ones_like full_like empty_like rand_like "
    "randn_like randint_like requires_grad_ detach_ fill_ zero_ normal_ uniform_ bernoulli_ copy_ alias contiguous"
).split()


def same_places(name: str) -> bool:
    """Whether a function's result has the arrangement of its argument, element by element."""
    if name in _NAMES:
        return True
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    if base in _NAMES:
        return True
    op = PRIMITIVES.get(base)
    return op is not None and op.batch == "elementwise"


_NAMES = frozenset((*_POINTWISE, *_ALIKE))


def refuse(name: str, why: str = "") -> Any:
    """Raise what stands for: this function does not take nested tensors."""
    raise UnsupportedError(f"{name}(): not supported for NestedTensor{': ' + why if why else ''}")


class Functions:
    """What one layout does with public functions: its own way of some, and `each` for what treats
    every element by itself.
    """

    def __init__(self, each: Handler) -> None:
        self._each = each
        # by name: torch.cat, Tensor.cat and others are several functions
        self._own: dict[str, Handler] = {}

    def handles(self, names: str) -> Callable[[Handler], Handler]:
        """Register a handler: `handler(name, func, *args, **kwargs)`."""

        def register(handler: Handler) -> Handler:
            self._own.update(dict.fromkeys(names.split(), handler))
            return handler

        return register

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Answer `__torch_function__`."""
        name = name_of(func)
        with DisableTorchFunctionSubclass():
            handler = self._own.get(name) or (self._each if same_places(name) else None)
            if handler is not None:
                return handler(name, func, *args, **(kwargs or {}))
        return refuse(name)


def plain(name: str, space: str = "torch") -> Callable[..., Any]:
    """A public function as it is without overrides."""
    return FUNCTIONS[space][name]


def nested_among(values: Iterable[Any], kind: type) -> list[Any]:
    """The nested tensors among arguments, also inside lists and tuples."""
    found = []
    for value in values:
        if isinstance(value, kind):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if isinstance(v, kind)]
    return found


def dims_of(dim: Any, ndim: int) -> list[int]:
    """Dimensions as a list of numbers from 0.

    Raises:
        IndexError: outside.
    """
    given = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    for d in given:
        if not -ndim <= d < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})"
            )
    return [d % ndim for d in given]


def name_of(func: Any) -> str:
    """The public name of a function, method or property getter as `__torch_function__` gets it."""
    return public_name(func, _NAMES)


def padding(kind: Any, high: bool) -> Any:
    """The largest or smallest value of a dtype."""
    if kind.is_floating_point:
        return float("inf") if high else -float("inf")
    if kind.numpy.kind == "b":
        return high
    return int(np.iinfo(kind.numpy).max if high else np.iinfo(kind.numpy).min)


def is_plain(value: Any) -> bool:
    """A tensor with an array."""
    return isinstance(value, Tensor) and not isinstance(value._array, NoArray)
