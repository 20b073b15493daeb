"""How code that computes outside of operations reports to a tracer, so that its work can be
repeated.

A tracer (the compiler's) sees every operation through `core.bind`. Constants, random draws and
fused updates also produce arrays, and report them here. Without a tracer, that costs one look at
`state.slow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..arrays import numpy_cpu
from ..arrays.meta import MetaArray
from ..arrays.numpy_cpu import NAMESPACES, namespace_of
from .interpret import thread
from .modes import state

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


def tracer() -> Any:
    """The interpreter of this thread that writes a program down; usually None."""
    return thread.stack.tracer if state.slow else None


# The code of functions that look at arrays which hold no tensor's values.
independent_codes: set[Any] = set()


def independent(function: F) -> F:
    """Decorator of a function of sizes and numbers alone: all arrays that it looks at depend on no
    tensor.
    """
    independent_codes.add(function.__code__)
    return function


def constant(array: Any) -> Any:
    """The same new array, after telling a tracer that it depends on no tensor's values."""
    if state.slow and thread.stack.tracer:
        thread.stack.tracer.constant(array)
    return array


def copied(array: Any) -> Any:
    """A copy of an array, made past the operations."""
    made = array.copy()
    if tracer():
        tracer().copied(array, made)
    return made


def seen(array: Any, what: str = "a shape, or what is done next, depends on values") -> Any:
    """The same array, after telling a tracer that something follows from its values which a program
    cannot repeat.
    """
    if tracer():
        tracer().refuse(what)
    return array


# not even a part of it: steps that ask run eagerly as a whole
UNKEPT = "which compiled code does not keep"


def unkept(what: str) -> None:
    """Tell a tracer that the step asks for what compiled code does not keep of a tensor: its place
    in memory, its count of writes, of what it is a view.
    """
    setting(f"asks {what}, {UNKEPT}")


def setting(what: str) -> None:
    """Tell a tracer that the program's own settings are asked for or changed, which a program does
    not repeat.
    """
    if tracer():
        tracer().refuse(f"the step {what}")


def number(value: Any, tensor: Any) -> Any:
    """A number that leaves a tensor, as a tracer wants to see it used."""
    return tracer().number_read(value, tensor) if tracer() else value


def check(function: Callable[..., Any], *args: Any, again: bool = False) -> None:
    """Call a function that only raises, for wrong values (which a meta tensor does not have);
    `again` says that the operation that follows would raise by itself.
    """
    if MetaArray in map(type, args):
        return
    if tracer():
        tracer().check(function, args, again)
    else:
        _apply(function, args)


def effect(function: Callable[..., Any], *args: Any, writes: tuple[int, ...] = ()) -> Any:
    """Call a function that computes on arrays past the operations (a fused update), so that a
    tracer can repeat the call.

    Arrays among the arguments, in lists and tuples too, are what it reads; those at the positions
    `writes` are overwritten. What it returns are arrays (no NumPy scalars) whose shapes do not
    depend on values.
    """
    if tracer():
        return tracer().effect(function, args, {}, writes)
    return _apply(function, args, writes)


def _apply(
    function: Callable[..., Any], args: tuple[Any, ...], writes: tuple[int, ...] = ()
) -> Any:
    """The call; with arrays of another library, on the host: they go there, and what is written and
    returned comes back.
    """
    xp = (
        None
        if len(NAMESPACES) == 1
        else next((xp for a in _arrays(args) if (xp := namespace_of(a)) is not numpy_cpu), None)
    )
    if xp is None:
        return function(*args)
    held = xp.to_host(args)
    made = function(*held)
    for i in writes:
        for old, new in zip(_arrays((args[i],)), _arrays((held[i],)), strict=True):
            namespace_of(old).copyto(old, namespace_of(old).from_host(new))
    return xp.from_host(made)


def _arrays(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _arrays(value)
        elif hasattr(value, "dtype"):
            yield value


def communication(function: Callable[..., Any], *args: Any, writes: tuple[Any, ...] = ()) -> Any:
    """Call a function that talks to other processes; a tracer's program calls it again. `writes`
    are arrays that it changes.
    """
    return tracer().communicate(function, args, writes) if tracer() else function(*args)


def aside(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of this library's whose reads of attributes decide nothing in a program."""
    return tracer().aside(function, args) if tracer() else function(*args)


class Fixed:
    """A class of objects that programs know by their identity: what changes in them decides nothing
    that a program does.

    A class derived from it talks to other processes, say: its calls are made again, by
    `communication`.
    """

    __slots__ = ()


def gradients(tensors: Iterable[Any]) -> list[Any]:
    """The gradients that the tensors have; a tracer is told of those that have none, since with one
    the caller would do something else.
    """
    found = []
    for t in tensors:
        if t._grad is not None:
            found.append(t._grad)
        elif tracer():
            tracer().grad_missing(t)
    return found


def replayed(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Decorator of a method that computes nothing of tensors and changes only the dictionary of its
    object and its optimizer's options (the step of a learning-rate schedule): each call of a
    compiled step calls it again.
    """

    @wraps(function)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        if tracer():
            return tracer().again(function, self, args, kwargs)
        return function(self, *args, **kwargs)

    return call


def repeatable(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a function that draws random numbers: `function(generator, ...)` fills the array
    `target`, or returns one.
    """
    names = list(signature(function).parameters)
    fills = (names.index("target"),) if "target" in names else ()

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if state.slow and tracer():
            return tracer().effect(function, args, kwargs, fills=fills)
        if len(NAMESPACES) > 1:
            return _apply(partial(function, **kwargs), args, fills)
        return function(*args, **kwargs)

    return call
