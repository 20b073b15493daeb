"""How code that computes outside of operations reports to a tracer, so that its work can be
repeated.

A tracer (the compiler's) sees every operation through `core.bind`. Constants, random draws and
fused updates also produce arrays, and report them here. Without a tracer, this costs one look at
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
    """The tracing interpreter of this thread, usually None."""
    return thread.stack.tracer if state.slow else None


# Code objects of functions that only read arrays independent of all tensors.
independent_codes: set[Any] = set()


def independent(function: F) -> F:
    """Decorator: the function computes with sizes and numbers only, so the arrays in it depend on
    no tensor's values.
    """
    independent_codes.add(function.__code__)
    return function


def constant(array: Any) -> Any:
    """Tell a tracer that a new array depends on no tensor's values; returns the array."""
    if state.slow and thread.stack.tracer:
        thread.stack.tracer.constant(array)
    return array


def copied(array: Any) -> Any:
    """A copy of an array, made outside of operations and reported to a tracer."""
    made = array.copy()
    if tracer():
        tracer().copied(array, made)
    return made


def seen(array: Any, what: str = "a shape, or what is done next, depends on values") -> Any:
    """Tell a tracer that the program depends on an array's values in a way that a compiled program
    cannot repeat; returns the array. `what` is the reason that is reported.
    """
    if tracer():
        tracer().refuse(what)
    return array


# A step with this reason runs eagerly as a whole: no part of it is compiled either.
UNKEPT = "which compiled code does not keep"


def unkept(what: str) -> None:
    """Tell a tracer that the step reads a property of a tensor that compiled code does not
    maintain: its memory address, its version counter, or its base.
    """
    setting(f"asks {what}, {UNKEPT}")


def setting(what: str) -> None:
    """Tell a tracer that the step reads or changes global settings, which a compiled program does
    not repeat.
    """
    if tracer():
        tracer().refuse(f"the step {what}")


def number(value: Any, tensor: Any) -> Any:
    """A number read from a tensor, in the form in which a tracer can follow its use."""
    return tracer().number_read(value, tensor) if tracer() else value


def check(function: Callable[..., Any], *args: Any, again: bool = False) -> None:
    """Call a function that only raises an error for wrong values; meta tensors, which have no
    values, are skipped. `again` says that the operation that follows would raise the error itself.
    """
    if MetaArray in map(type, args):
        return
    if tracer():
        tracer().check(function, args, again)
    else:
        _apply(function, args)


def effect(function: Callable[..., Any], *args: Any, writes: tuple[int, ...] = ()) -> Any:
    """Call a function that computes on arrays outside of operations (a fused update), so that a
    tracer can repeat the call.

    The function reads the arrays among the arguments, also inside lists and tuples, and overwrites
    those at the positions `writes`. It returns arrays (not NumPy scalars) whose shapes do not
    depend on values.
    """
    if tracer():
        return tracer().effect(function, args, {}, writes)
    return _apply(function, args, writes)


def _apply(
    function: Callable[..., Any], args: tuple[Any, ...], writes: tuple[int, ...] = ()
) -> Any:
    """Call the function on the host. Arrays of another library are copied to the host first;
    written arrays and results are copied back.
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
    """Call a function that communicates with other processes; a compiled program calls it again.
    `writes` are the arrays that it changes.
    """
    return tracer().communicate(function, args, writes) if tracer() else function(*args)


def aside(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the library. The attributes that it reads are not recorded as dependencies
    of the traced program.
    """
    return tracer().aside(function, args) if tracer() else function(*args)


class Fixed:
    """Base class of objects that a compiled program identifies by identity. Changes inside them do
    not affect what the program does.

    For example, a subclass communicates with other processes, and its calls are repeated through
    `communication`.
    """

    __slots__ = ()


def gradients(tensors: Iterable[Any]) -> list[Any]:
    """The existing gradients of the tensors. A tracer is told which tensors have none, because the
    caller would act differently if they had one.
    """
    found = []
    for t in tensors:
        if t._grad is not None:
            found.append(t._grad)
        elif tracer():
            tracer().grad_missing(t)
    return found


def replayed(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Decorator of a method that computes nothing from tensors and changes only its object's
    dictionary and its optimizer's options, such as the step of a learning-rate schedule. Every call
    of a compiled step calls it again.
    """

    @wraps(function)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        if tracer():
            return tracer().again(function, self, args, kwargs)
        return function(self, *args, **kwargs)

    return call


def repeatable(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a function that draws random numbers, so that a tracer can repeat the draw.
    `function(generator, ...)` fills the array `target` or returns a new one.
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
