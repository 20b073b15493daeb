"""Containers of modules and parameters: Sequential, ModuleList, ModuleDict, ParameterList,
ParameterDict.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Self, overload

from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError, IndexOutOfRangeError, warn
from ..parameter import Parameter
from ._naming import add_indent, typename
from .module import Module

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _put_before(layers: Module, index: int, module: Module) -> None:
    """Put a module before position `index` of numbered ones, which move up from there on."""
    for i in range(len(layers._modules), index, -1):
        layers._modules[str(i)] = layers._modules[str(i - 1)]
    layers._modules[str(index)] = module


class Container(Module):
    """A module with the given modules as children. Deprecated: subclass `Module` instead.

    >>> import pellucid as torch
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layers = torch.nn.Container(first=torch.nn.Linear(2, 3))
    >>> layers.first
    Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(self, **kwargs: Any) -> None:
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """A chain of modules: each is called with the output of the previous one.

    It can be indexed, sliced, extended (`append`, `extend`, `insert`, `pop`, `+`) and repeated
    (`*`) like a list.

    Args:
        args: the modules, which get the names "0", "1", ...; or one OrderedDict of names and
            modules.

    Raises:
        TypeError: something that is not a module.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Sequential(torch.nn.Identity(), torch.nn.Flatten())
        Sequential(
          (0): Identity()
          (1): Flatten(start_dim=1, end_dim=-1)
        )
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        pairs = (
            args[0].items()
            if len(args) == 1 and isinstance(args[0], OrderedDict)
            else enumerate(args)
        )
        for key, module in pairs:
            self.add_module(str(key), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _key(self, index: Any) -> str:
        size = len(self)
        at = operator.index(index)
        if not -size <= at < size:
            raise IndexOutOfRangeError(f"index {at} is out of range")
        return next(islice(self._modules, at % size, None))

    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    @overload
    def __getitem__(self, idx: int) -> Module: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._renumber()

    def _renumber(self) -> None:
        kept = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(kept))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        _check_sequential(
            other, "add operator supports only objects of Sequential class, but {} is given."
        )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        _check_sequential(
            other, "add operator supports only objects of Sequential class, but {} is given."
        )
        for module in list(other):
            self.append(module)
        return self

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(module for _ in range(_times(other)) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        own = list(self)
        for _ in range(_times(other) - 1):
            for module in own:
                self.append(module)
        return self

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before position `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexOutOfRangeError(f"Index out of range: {index}")
        _put_before(self, index + n * (index < 0), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add all modules of another Sequential."""
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out and return it."""
        found = self[key]
        del self[key]
        return found


def _check_sequential(other: Any, text: str) -> None:
    if not isinstance(other, Sequential):
        raise ArgumentValueError(text.format(str(type(other))))


def _times(count: Any) -> int:
    if not isinstance(count, int):
        raise ArgumentTypeError(
            f"unsupported operand type(s) for *: <class 'torch.nn.modules.container.Sequential'> and {type(count)}"
        )
    if count <= 0:
        raise ArgumentValueError(f"Non-positive multiplication factor {count} for {Sequential}")
    return count


class ModuleList(Module):
    """A list of submodules. It has no forward: iterate over it, or call its elements.

    Unlike those of a plain list, its modules are registered: their parameters are trained, saved
    and moved with the module that has the list. It can be indexed, sliced and extended like a list.

    Args:
        modules: an iterable of modules to begin with. Default: none.

    Raises:
        TypeError: something that is not a module, or `extend` without an iterable.

    Example:
        >>> import pellucid as torch
        >>> layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _key(self, index: Any) -> str:
        size = len(self)
        at = operator.index(index)
        if not -size <= at < size:
            raise IndexOutOfRangeError(f"index {at} is out of range")
        return str(at % size)

    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    @overload
    def __getitem__(self, idx: int) -> Module: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        for k in range(len(self))[idx] if isinstance(idx, slice) else [int(self._key(idx))]:
            delattr(self, str(k))
        kept = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(kept))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Put a module before position `index`, which is not negative."""
        _put_before(self, index, module)

    def append(self, module: Module | None) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Take a module out and return it."""
        found = self[key]
        del self[key]
        return found

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise ArgumentTypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Equal neighbors are printed once, with their count."""
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        blocks: list[list[Any]] = []
        for i, text in enumerate(texts):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        lines = []
        for first, last, text in blocks:
            head = (
                f"({first}): {text}"
                if first == last
                else f"({first}-{last}): {last - first + 1} x {text}"
            )
            lines.append(add_indent(head, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of submodules, in the order of insertion.

    Unlike those of a plain dictionary, its modules are registered: their parameters are trained,
    saved and moved with the module that has the dictionary. It has no forward.

    Args:
        modules: a mapping from names to modules, or (name, module) pairs, to begin with. Default:
            none.

    Raises:
        TypeError: something that is not a module, or a name that is not a string.
        KeyError: a name that is not there, or with a dot.

    Example:
        >>> import pellucid as torch
        >>> choices = torch.nn.ModuleDict({"relu": torch.nn.ReLU(), "tanh": torch.nn.Tanh()})
        >>> choices["relu"](torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out and return it."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """(name, module) pairs."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from (name, module) pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _pairs(given: Any, title: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping (a ParameterDict sorts those of a plain one by name) or of an iterable
    of pairs.
    """
    if not isinstance(given, Iterable):
        raise ArgumentTypeError(
            f"{'ParametersDict' if title == 'ParameterDict' else title}.update should be called with an iterable of key/value pairs, but got "
            f"{type(given).__name__}"
        )
    if isinstance(given, Mapping) or hasattr(given, "items"):
        ordered = title != "ParameterDict" or isinstance(given, (OrderedDict, ParameterDict))
        yield from (
            list(given.items()) if ordered else sorted(given.items(), key=lambda pair: pair[0])
        )
        return
    for position, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise ArgumentTypeError(
                f"{title} update sequence element #{position} should be Iterable; is{type(pair).__name__}"
            )
        values = tuple(pair)
        if len(values) != 2:
            raise ArgumentValueError(
                f"{title} update sequence element #{position} has length {len(values)}; 2 is required"
            )
        yield values


def _as_parameter(value: Any) -> Any:
    return (
        Parameter(value)
        if isinstance(value, Tensor) and not isinstance(value, Parameter)
        else value
    )


class ParameterList(Module):
    """A list of parameters; tensors that you add become parameters, other objects stay unchanged.

    Unlike those of a plain list, its parameters are registered: they are trained, saved and moved
    with the module that has the list.

    Args:
        values: an iterable of tensors or other objects to begin with. Default: none.

    Raises:
        TypeError: `extend` without an iterable, or with a tensor.
        RuntimeError: the list is called.

    Example:
        >>> import pellucid as torch
        >>> weights = torch.nn.ParameterList([torch.ones(2), torch.ones(3)])
        >>> [w.requires_grad for w in weights]
        [True, True]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _key(self, index: Any) -> str:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexOutOfRangeError(f"index {at} is out of range")
        return str(at % len(self))

    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    @overload
    def __getitem__(self, idx: int) -> Any: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            out = self.__class__()
            for i in range(*idx.indices(len(self))):
                out.append(self[i])
            return out
        return getattr(self, self._key(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._key(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        at = self._size
        self._size += 1
        self[at] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise ArgumentTypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        lines = []
        for k, value in enumerate(self):
            if isinstance(value, Tensor):
                title = "Parameter" if isinstance(value, Parameter) else "Tensor"
                size = "x".join(str(n) for n in value.shape)
                lines.append(f"  ({k}): {title} containing: [{value.dtype} of size {size}]")
            else:
                lines.append(f"  ({k}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, in the order of insertion; tensors that you add become
    parameters.

    Unlike those of a plain dictionary, its parameters are registered: they are trained, saved and
    moved with the module that has the dictionary.

    Args:
        parameters: a mapping from names to tensors or other objects, or pairs of them, to begin
            with; plain dictionaries are sorted by name. Default: none.

    Raises:
        TypeError: a name that is not a string.
        RuntimeError: the dictionary is called.

    Example:
        >>> import pellucid as torch
        >>> own = torch.nn.ParameterDict({"scale": torch.ones(2), "shift": torch.zeros(2)})
        >>> own["scale"].requires_grad, list(own)
        (True, ['scale', 'shift'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise ArgumentTypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}'). "
                "Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._attribute(key)
        self._keys[key] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary with the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, set to `default` first when it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last pair out and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with one value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """(name, value) pairs."""
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from (name, value) pairs."""
        for key, value in _pairs(parameters, "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        lines = []
        for key, value in self.items():
            if isinstance(value, Tensor):
                title = "Parameter" if isinstance(value, Parameter) else "Tensor"
                kind = (
                    typename(value)
                    if title == "Tensor"
                    else "torch." + value.type().partition(".")[2]
                )
                size = "x".join(str(n) for n in value.shape)
                lines.append(f"  ({key}): {title} containing: [{kind} of size {size}]")
            else:
                lines.append(f"  ({key}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        out = self.copy()
        out.update(other)
        return out

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        out = other.copy()
        out.update(self)
        return out

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
