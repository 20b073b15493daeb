"""What pipelines of data are made of: `IterDataPipe` and `MapDataPipe`.

An iterable pipe has one valid iterator. A new one begins the pipe again and ends the one before.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...errors import warn
from ..dataset import Dataset, IterableDataset

_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
    "https://github.com/pytorch/data/issues/45."
)


class _Pipe:
    """What both kinds have: methods by name, a short text, and hooks for `graph.traverse_dps`."""

    functions: dict[str, Callable[..., Any]]
    # A class of pipes that defines `__getstate__` passes its state through `getstate_hook`.
    getstate_hook: Callable[[Any], Any] | None = None
    reduce_ex_hook: Callable[[Any], Any] | None = None
    str_hook: Callable[[Any], str] | None = None
    repr_hook: Callable[[Any], str] | None = None

    def __getattr__(self, name: str) -> Any:
        made = type(self).functions.get(name) if not name.startswith("__") else None
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(made, self)

    @classmethod
    def register_function(cls, name: str, function: Callable[..., Any]) -> None:
        """Make a function a method of all pipes of this kind."""
        cls.functions[name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, name: str, pipe: Callable[..., Any], enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class of pipes a method of all pipes of this kind.

        Raises:
            Exception: there is a method of that name.
        """
        if name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")
        cls.functions[name] = pipe

    @classmethod
    def _kind(cls) -> type[_Pipe]:
        """IterDataPipe or MapDataPipe, which holds the hooks."""
        raise NotImplementedError

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """What the state of each pipe of this kind goes through when it is pickled; None: nothing.

        Raises:
            RuntimeError: there is a hook already.
        """
        kind = cls._kind()
        if hook_fn is not None and kind.getstate_hook is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        kind.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """What pickles each pipe of this kind instead, unless it raises NotImplementedError; None:
        nothing.

        Raises:
            RuntimeError: there is a hook already.
        """
        kind = cls._kind()
        if hook_fn is not None and kind.reduce_ex_hook is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        kind.reduce_ex_hook = hook_fn

    def __getstate__(self) -> Any:
        hook = self._kind().getstate_hook
        return vars(self) if hook is None else hook(vars(self))

    def __reduce_ex__(self, *protocol: Any) -> Any:
        hook = self._kind().reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*protocol)

    def __str__(self) -> str:
        hook = type(self).str_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __repr__(self) -> str:
        hook = type(self).repr_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_Pipe, IterableDataset[Any]):
    """A stream of samples that others can be chained to; a subclass defines `__iter__`.

    >>> import pellucid as torch
    >>> class Count(torch.utils.data.IterDataPipe):
    ...     def __iter__(self):
    ...         return iter(range(4))
    >>> def square(n):
    ...     return n * n
    >>> list(Count().map(square))
    [0, 1, 4, 9]
    """

    functions: dict[str, Callable[..., Any]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__iter__")
        if own is not None:
            late = inspect.isgeneratorfunction(own)
            cls.__iter__ = (_generating if late else _iterating)(own)  # type: ignore[method-assign]

    @classmethod
    def _kind(cls) -> type[_Pipe]:
        return IterDataPipe

    def __iter__(self) -> Iterator[Any]:
        return self

    def reset(self) -> None:
        """What a new iterator begins with; a subclass may define it."""

    def _begin(self) -> int:
        """Begin a new iterator, which ends the one before; its number."""
        before = self._valid_iterator_id
        self._valid_iterator_id = number = 0 if before is None else before + 1
        self._number_of_samples_yielded = 0
        self.reset()
        return number

    def _check_valid(self, number: int) -> None:
        """RuntimeError when the iterator of that number has been ended by another."""
        if self._valid_iterator_id != number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                f"{described(self)}\n"
                "This may be caused by multiple references to the same IterDataPipe. We recommend using `.fork()` if that is necessary."
                + _FEEDBACK
            )


def described(pipe: Any) -> str:
    """A pipe with what it was made from: those of its attributes that its class takes."""
    taken = inspect.signature(type(pipe)).parameters
    values = [
        f"{name}={value.__name__ if inspect.isfunction(value) else repr(value)}"
        for name, value in inspect.getmembers(pipe)
        if name in taken
    ]
    return f"{type(pipe).__name__}({', '.join(values)})"


def _located(error: Exception, pipe: IterDataPipe) -> None:
    """Tell the innermost pipe that raised an error, in its text."""
    told = "thrown by __iter__ of"
    first = error.args[0] if error.args else None
    if not isinstance(first, str):
        error.args = (f"\nThis exception is {told} {described(pipe)}",)
    elif told not in first and "single iterator per IterDataPipe constraint" not in first:
        error.args = (f"{first}\nThis exception is {told} {described(pipe)}", *error.args[1:])


def _generating(own: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """`__iter__` that is a generator. Its turn begins with the first sample asked for."""

    @functools.wraps(own)
    def __iter__(self: IterDataPipe) -> Iterator[Any]:
        number = self._begin()
        try:
            for item in own(self):
                self._number_of_samples_yielded += 1
                yield item
                self._check_valid(number)
        except Exception as error:
            _located(error, self)
            raise

    return __iter__


def _iterating(own: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """`__iter__` that returns an iterator. Its turn begins at once."""

    @functools.wraps(own)
    def __iter__(self: IterDataPipe) -> Iterator[Any]:
        source = own(self)
        return _Turn(self, source, self._begin())

    return __iter__


class _Turn:
    """An iterator that ends when a newer one of the same pipe begins."""

    def __init__(self, pipe: IterDataPipe, source: Iterator[Any], number: int) -> None:
        self.pipe, self.source, self.number = pipe, source, number

    def __iter__(self) -> _Turn:
        return self

    def __next__(self) -> Any:
        self.pipe._check_valid(self.number)
        item = next(self.source)
        self.pipe._number_of_samples_yielded += 1
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


class MapDataPipe(_Pipe, Dataset[Any]):
    """Samples by key that others can be chained to; a subclass defines `__getitem__` and `__len__`.

    >>> import pellucid as torch
    >>> class Squares(torch.utils.data.MapDataPipe):
    ...     def __getitem__(self, index):
    ...         return index**2
    ...     def __len__(self):
    ...         return 4
    >>> Squares()[3], len(Squares())
    (9, 4)
    """

    functions: dict[str, Callable[..., Any]] = {}

    @classmethod
    def _kind(cls) -> type[_Pipe]:
        return MapDataPipe


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames.

    >>> from pellucid.utils.data import DFIterDataPipe, IterDataPipe
    >>> issubclass(DFIterDataPipe, IterDataPipe)
    True
    """


class DataChunk(list):
    """A batch: a list of samples.

    >>> from pellucid.utils.data.datapipes.iter import IterableWrapper
    >>> batches = list(IterableWrapper(range(5)).batch(2))
    >>> batches, type(batches[0]).__name__
    ([[0, 1], [2, 3], [4]], 'DataChunk')
    """

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Any]:
        yield from self.items


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[type], type]:
    """Register a class of pipes as a method: `@functional_datapipe("twice")` gives all pipes of its
    kind `.twice(...)`.

    Example:
        >>> from pellucid.utils.data.datapipes.iter import IterableWrapper
        >>> @functional_datapipe("twice_over")
        ... class Twice(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         for x in self.source:
        ...             yield from (x, x)
        >>> list(IterableWrapper([1, 2]).twice_over())
        [1, 1, 2, 2]
    """

    def register(cls: type) -> type:
        for kind in (IterDataPipe, MapDataPipe):
            if issubclass(cls, kind):
                kind.register_datapipe_as_function(name, cls, enable_df_api_tracing)
                return cls
        raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")

    return register


def checked_function(function: Any) -> Any:
    """What a pipe calls for its samples; warns of functions that other processes cannot be sent.

    Raises:
        TypeError: it cannot be called.
    """
    if not callable(function):
        raise TypeError(f"A callable function is expected, but {type(function)} is provided.")
    inner = function.func if isinstance(function, functools.partial) else function
    code = getattr(inner, "__code__", None)
    if code is not None:
        local = bool(code.co_flags & inspect.CO_NESTED)
    else:
        local = "<locals>" in getattr(inner, "__qualname__", type(inner).__qualname__)
    kind = "Local" if local else "Lambda" if getattr(inner, "__name__", "") == "<lambda>" else ""
    if kind:
        warn(
            f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead."
        )
    return function


def check_columns(function: Any, input_col: Any) -> None:
    """Refuse a function that does not take as many arguments as there are columns.

    Raises:
        ValueError: it takes fewer or more.
    """
    try:
        given = inspect.signature(function).parameters.values()
    except ValueError:  # written in C, without a signature
        return
    size = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    inner = function.func if isinstance(function, functools.partial) else function
    said = f"The function {getattr(inner, '__name__', repr(inner))} takes"
    places = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in given if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    star = any(p.kind is p.VAR_POSITIONAL for p in given)
    if named:
        raise ValueError(
            f"{said} {len(named)} non-default keyword-only parameters, which is not allowed."
        )
    if len(given) < size and not star:
        raise ValueError(f"{said} {len(given)} parameters, but {size} are required.")
    needed = any(p.default is p.empty for p in places[size:])
    if len(given) >= size and (needed or len(places) < size and not star):
        raise ValueError(f"{said} {len(places)} positional parameters, but {size} are required.")


def length_of(pipe: Any, source: Any) -> int:
    """The length of what a pipe reads.

    Raises:
        TypeError: it has none.
    """
    if hasattr(type(source), "__len__"):
        return len(source)
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


class _Carried:
    """A pipe as a DataLoader holds it: whole for worker processes, whatever its class pickles."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_Carried, IterDataPipe):
    def __iter__(self) -> Iterator[Any]:
        return iter(self._datapipe)


class _MapDataPipeSerializationWrapper(_Carried, MapDataPipe):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]
