"""Which sizes of the inputs may change (`torch.export.dynamic_shapes`)."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from .._pytree import keystr, tree_flatten, tree_flatten_with_path
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, ArgumentValueError, UserError

__all__ = ["AdditionalInputs", "Dim", "DimHint", "ShapesCollection", "dims"]

_MORE = (
    "For more information about this error, see: "
    "https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"
)


class DimHint:
    """A dynamic size without a name: `Dim.AUTO`, `Dim.DYNAMIC` or `Dim.STATIC`. Sizes that must be
    equal are found to be.
    """

    def __init__(self, type: str, min: int | None = None, max: int | None = None) -> None:
        self.type, self.min, self.max = type, min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        """The hint with bounds."""
        return DimHint(self.type, min, max)

    def __repr__(self) -> str:
        bounds = [f"{n}={v}" for n, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"DimHint({', '.join([self.type, *bounds])})"


class Dim:
    """A dynamic size, by name. Sizes of the same name are equal; `2 * dim` and `dim + 1` are sizes
    that follow from one.

    Args:
        name: an identifier.
        min: the smallest size. Default: 0.
        max: the largest size. Default: no limit.

    >>> from pellucid.export import Dim
    >>> batch = Dim("batch", max=64)
    >>> batch, 2 * batch + 1
    (Dim('batch', min=0, max=64), 2*batch + 1)
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        low = 0 if min is None else min
        if max is not None and max <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={low}, max={max}")
        self.__name__, self.min, self.max = name, low, max
        self.root, self.factor, self.offset = self, 1, 0

    def _follows(self, factor: int, offset: int) -> Dim:
        made = object.__new__(Dim)
        made.root, made.factor, made.offset = self.root, factor, offset
        word = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        made.__name__ = word + (f" {'+' if offset > 0 else '-'} {abs(offset)}" if offset else "")
        root = self.root
        made.min = factor * root.min + offset
        made.max = None if root.max is None else factor * root.max + offset
        return made

    def __add__(self, other: Any) -> Dim:
        return self._follows(self.factor, self.offset + _whole(other, "add"))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dim:
        return self._follows(self.factor, self.offset - _whole(other, "subtract"))

    def __mul__(self, other: Any) -> Dim:
        by = _whole(other, "multiply")
        if by <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected"
            )
        return self._follows(self.factor * by, self.offset * by)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        bounds = [f"min={self.min}"] if self.min != 2 else []  # PyTorch's usual lower bound
        bounds += [f"max={self.max}"] if self.max is not None else []
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"


def _whole(value: Any, what: str) -> int:
    if type(value) is not int:
        raise NotImplementedError(
            f"Attempted to {what} {value} with a Dim, where an integer was expected. "
            "(Only increasing linear operations with integer coefficients are supported.)"
        )
    return value


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim`s with the same bounds.

    >>> from pellucid.export import dims
    >>> dims("n", "t", min=3)
    (Dim('n', min=3), Dim('t', min=3))
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


class ShapesCollection:
    """Dynamic sizes given tensor by tensor, for inputs that are nested.

    >>> import pellucid as torch
    >>> from pellucid.export import Dim, ShapesCollection
    >>> x = torch.ones(3, 2)
    >>> shapes = ShapesCollection()
    >>> shapes[x] = {0: Dim("n")}
    >>> shapes.dynamic_shapes(None, ([x, torch.ones(2)],))
    (([{0: Dim('n', min=0)}, None],), {})
    """

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}
        self._alive: list[Any] = []

    def __setitem__(self, t: Tensor, shape: Any) -> None:
        if not isinstance(t, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        if id(t) in self._shapes and self._shapes[id(t)] != shape:
            raise AssertionError(f"Shapes assigned to tensor do not match: {shape}")
        self._shapes[id(t)] = shape
        self._alive.append(t)

    def __getitem__(self, t: Tensor) -> Any:
        return self._shapes.setdefault(id(t), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The sizes in the structure of the arguments."""
        from .._pytree import tree_map

        found = tree_map(lambda x: self._shapes.get(id(x)), (args, dict(kwargs or {})))
        return found if m is None else {**dict(zip(names(m, args), found[0])), **found[1]}


class AdditionalInputs:
    """Arguments of further calls, from which `dynamic_shapes` sees which sizes change.

    >>> import pellucid as torch
    >>> from pellucid.export import AdditionalInputs
    >>> more = AdditionalInputs()
    >>> more.add((torch.ones(5, 2),))
    >>> more.dynamic_shapes(torch.nn.ReLU(), (torch.ones(3, 2),))
    {'input': (DimHint(DYNAMIC), None)}
    """

    def __init__(self) -> None:
        self._calls: list[tuple[Any, dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add the arguments of a call.

        Raises:
            AssertionError: `args` is not a tuple.
        """
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        self._calls.append((args, dict(kwargs or {})))

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The sizes that differ, by the names of the module's arguments."""
        from .._pytree import tree_unflatten

        given = (args, dict(kwargs or {}))
        leaves, spec = tree_flatten(given)
        others = [tree_flatten(call)[0] for call in self._calls]
        found: list[Any] = []
        for k, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                found.append(None)
                continue
            sizes = zip(leaf.shape, *[other[k].shape for other in others], strict=True)
            found.append(tuple([Dim.DYNAMIC if len(set(s)) > 1 else None for s in sizes]))
        by_place, by_name = tree_unflatten(found, spec)
        return {**dict(zip(names(m, args), by_place)), **by_name}

    def verify(self, ep: Any) -> None:
        """Run an exported program on each of the calls."""
        module = ep.module()
        for args, kwargs in self._calls:
            module(*args, **kwargs)


class Axis(NamedTuple):
    """A size of an input that follows from the size of a name: `factor * name + offset`."""

    name: str
    factor: int = 1
    offset: int = 0


class Dynamic(NamedTuple):
    """The dynamic sizes of a program's inputs.

    Attributes:
        axes: by the number of the input among the leaves, by dimension.
        bounds: the smallest and largest size by name; None for no limit.
        hints: names that may turn out to be equal, or fixed (`Dim.AUTO`), with the kind of hint.
    """

    axes: dict[int, dict[int, Axis]]
    bounds: dict[str, tuple[int, int | None]]
    hints: dict[str, str]


def names(mod: Any, args: tuple[Any, ...]) -> list[str]:
    """The names of the parameters that positional arguments are bound to."""
    forward = getattr(mod, "forward", mod)
    found: list[str] = []
    for p in inspect.signature(forward).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            found += [f"{p.name}_{k}" for k in range(len(args) - len(found))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            found.append(p.name)
    return found[: len(args)]


def dynamic_sizes(mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any) -> Dynamic:
    """What `dynamic_shapes` says of the arguments of a call.

    Raises:
        UserError: its structure is not that of the arguments.
    """
    found = Dynamic({}, {}, {})
    if isinstance(given, (ShapesCollection, AdditionalInputs)):
        given = given.dynamic_shapes(mod, args, kwargs)
    if not given:
        return found
    k = 0
    for path, value, want in _paired(mod, args, kwargs, given):
        for place, leaf, wish in _leaves(path, value, want):
            if wish is not None and isinstance(leaf, Tensor):
                _axes(found, k, place, leaf, wish)
            k += 1
    return found


def _paired(mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any) -> list[Any]:
    """Each argument with what is said of it."""
    words = [*names(mod, args), *kwargs]
    values = [*args, *kwargs.values()]
    if isinstance(given, dict):
        parameters = inspect.signature(getattr(mod, "forward", mod)).parameters.values()
        rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        if rest in given and isinstance(given[rest], (tuple, list)):
            spread = {f"{rest}_{k}": want for k, want in enumerate(given[rest])}
            given = {**{n: w for n, w in given.items() if n != rest}, **spread}
        by_word = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
        if by_word in given and isinstance(given[by_word], dict) and by_word not in kwargs:
            given = {**{n: w for n, w in given.items() if n != by_word}, **given[by_word]}
        if set(given) != set(words):
            raise UserError(
                f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {words} of `inputs`, "
                f"but here they are {list(given)}. Alternatively, you could also ignore arg names entirely and specify "
                f"`dynamic_shapes` as a list/tuple matching `inputs`. {_MORE}"
            )
        return [(word, value, given[word]) for word, value in zip(words, values, strict=True)]
    if not isinstance(given, (tuple, list)):
        raise ArgumentTypeError(f"dynamic_shapes must be a dict, tuple or list, got {type(given)}")
    if len(given) != len(values):
        raise UserError(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` has {len(values)} elements, "
            f"but `dynamic_shapes` has {len(given)} elements\n{_MORE}"
        )
    return list(zip(words, values, given, strict=True))


def _leaves(path: str, value: Any, want: Any) -> list[tuple[str, Any, Any]]:
    """The leaves of an argument with what is said of each."""
    leaves = tree_flatten_with_path(value)[0]
    if len(leaves) == 1 and leaves[0][1] is value:
        return [(path, value, want)]
    if want is None:
        return [(path + keystr(at), leaf, None) for at, leaf in leaves]
    parts = list(value.items()) if isinstance(value, dict) else list(enumerate(_children(value)))
    wishes = want
    if isinstance(want, dict) and not isinstance(value, dict):
        wishes = [want.get(k) for k in range(len(parts))]
    if len(wishes) != len(parts):
        raise UserError(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs[{path!r}]` has {len(parts)} elements, "
            f"but `dynamic_shapes[{path!r}]` has {len(wishes)} elements\n{_MORE}"
        )
    found = []
    for place, (key, part) in enumerate(parts):
        wish = wishes.get(key) if isinstance(wishes, dict) else wishes[place]
        found += _leaves(f"{path}[{key!r}]", part, wish)
    return found


def _children(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else tree_flatten(value)[0]


def _axes(found: Dynamic, k: int, place: str, tensor: Tensor, want: Any) -> None:
    """Write down what is said of one tensor."""
    if isinstance(want, (tuple, list)):
        if len(want) != tensor.ndim:
            raise UserError(
                f"Expected dynamic shape spec {want} specified at `dynamic_shapes[{place!r}]` to have the same length as the actual "
                f"tensor shape {tensor.shape} (expected {tensor.ndim}, but got {len(want)} instead)\n{_MORE}"
            )
        want = dict(enumerate(want))
    if not isinstance(want, dict):
        raise UserError(
            f"Unexpected dynamic_shape {want} of Tensor, expected None, dict, list or tuple\n{_MORE}"
        )
    for axis, dim in want.items():
        if not isinstance(axis, int) or not -tensor.ndim <= axis < tensor.ndim:
            raise IndexError("list assignment index out of range")
        axis %= tensor.ndim
        size = tensor.shape[axis]
        if dim is None or isinstance(dim, int) and not isinstance(dim, bool):
            if dim is not None and dim != size:
                raise UserError(
                    f"Static shape constraint of {dim} does not match input size of {size}, for `inputs[{place!r}].shape[{axis}]`"
                )
        elif isinstance(dim, DimHint):
            if dim.type == "DYNAMIC" or dim.type == "AUTO" and size > 1:
                name = f"_hint{k}_{axis}"
                found.axes.setdefault(k, {})[axis] = Axis(name)
                found.bounds[name] = (2 if dim.min is None else dim.min, dim.max)
                found.hints[name] = dim.type
        elif isinstance(dim, (Dim, str)):
            dim = Dim(dim) if isinstance(dim, str) else dim
            root = dim.root
            _admit(dim, size)
            found.axes.setdefault(k, {})[axis] = Axis(root.__name__, dim.factor, dim.offset)
            known = found.bounds.setdefault(root.__name__, (root.min, root.max))
            if known != (root.min, root.max):
                raise UserError(
                    f"Found different definitions {known} and {(root.min, root.max)} for the same symbolic dimension {root.__name__!r}!"
                )
        else:
            raise UserError(
                f"Unexpected dimension mapped to index {axis} in input tensor shape {want} specified at `dynamic_shapes[{place!r}]` "
                f"(expected None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,  but got {dim!r} instead)\n{_MORE}"
            )


def _admit(dim: Dim, size: int) -> None:
    """Refuse a size outside of the bounds of its name.

    Raises:
        ConstraintViolationError: it is.
    """
    from ..fx.experimental.symbolic_shapes import ConstraintViolationError

    low, high = dim.min, dim.max
    if size < low or high is not None and size > high:
        raise ConstraintViolationError(
            f"{size} not in range [{low}, {'int_oo' if high is None else high}]"
        )
    root, rest = divmod(size - dim.offset, dim.factor)
    if rest or root < 0:
        raise ArgumentValueError(
            f"Expected input size to be of the form {dim.__name__}, where {dim.root.__name__} is an integer, got {size}"
        )
