"""Interception of operators: by modes, then by types of tensors (`__torch_dispatch__`).

A call passes three levels. *Functions* (`level.enter`): the call of a program becomes operators,
with `composite` for functions that PyTorch decomposes. *Autograd* (`call`): the operator runs
below, and a node is added whose rule (`gradients`) is written with operators. *Below autograd*
(`handled`): the innermost mode is asked, then the types of the arguments; while one is asked, those
before it are switched off. If none handles the operator, it is computed. What the library computes
without calling a public function arrives, record by record, at an interpreter (`level.Level`),
which is active only while there is a mode or a tensor of such a type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.inplace import bump
from ..core.modes import local, no_grad
from ..core.primitive import PRIMITIVES
from ..core.tensor import FAST_TYPES, Tensor, version_of
from ..errors import NeedsValuesError


class _Thread(threading.local):
    modes: tuple[Any, ...] = ()  # innermost last
    below = False  # whether operators run below autograd
    whole: Any = None  # the operator that is being run as the library's records
    record: Any = None  # (record, arguments, parameters) that is being run as operators
    # whether plain tensors are constants of the library, as no argument of the program's call was
    # one
    constants: bool = False


thread = _Thread()


def disabled(*args: Any, **kwargs: Any) -> Any:
    """`__torch_dispatch__ = torch._C._disabled_torch_dispatch_impl`: the type takes no part."""
    return NotImplemented


def takes_over(kind: Any) -> bool:
    """Return whether tensors of a type intercept operators."""
    own = getattr(kind, "__torch_dispatch__", None)
    return own is not None and getattr(own, "__func__", own) is not disabled


# ---- who is there ------------------------------------------------------------------------------
def leaves(
    args: Iterable[Any], kwargs: dict[str, Any], seen: set[int] | None = None
) -> Iterator[Any]:
    """Yield the arguments, including those in lists. A list that occurs several times is visited
    once.
    """
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            # Nested lists may share lists, and so have exponentially many elements, or contain
            # themselves.
            seen = set() if seen is None else seen
            if id(value) not in seen:
                seen.add(id(value))
                yield from leaves(value, {}, seen)
        else:
            yield value


def handlers(args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments whose type intercepts operators: one of each type, subclasses before
    their bases.
    """
    found: list[Any] = []
    for value in leaves(args, kwargs):
        kind = type(value)
        if (
            kind in FAST_TYPES
            or not isinstance(value, Tensor)
            or not takes_over(kind)
            or any(type(v) is kind for v in found)
        ):
            continue
        place = next(
            (k for k, other in enumerate(found) if issubclass(kind, type(other))), len(found)
        )
        found.insert(place, value)
    return found


def takes(args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether a mode or a type intercepts a call with these arguments."""
    return bool(thread.modes) or bool(handlers(args, kwargs))


def above_decomposition() -> bool:
    """Return whether the innermost mode wants to see operators before they are decomposed."""
    return bool(thread.modes) and getattr(thread.modes[-1], "pre_dispatch", False)


@contextmanager
def only(modes: tuple[Any, ...], below: bool | None = None) -> Iterator[None]:
    """Set the thread's modes inside the block."""
    before, thread.modes = thread.modes, modes
    was = thread.below
    if below is not None:
        thread.below = below
    try:
        yield
    finally:
        thread.modes, thread.below = before, was


@contextmanager
def passed_autograd() -> Iterator[None]:
    """Run operators below autograd inside the block."""
    before, thread.below = thread.below, True
    running, thread.record = thread.record, None
    try:
        with no_grad():
            yield
    finally:
        thread.below, thread.record = before, running


def with_values(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function without side effects. If it reads values that a tensor of the arguments does
    not have, the tensor's type is asked to call it with tensors that do (`__with_values__`).
    """
    try:
        return function(*args, **kwargs)
    except NeedsValuesError:
        for value in handlers(args, kwargs):
            instead = getattr(type(value), "__with_values__", None)
            if instead is not None:
                return instead(function, args, kwargs)
        raise


@contextmanager
def own_constants(args: Iterable[Any], kwargs: dict[str, Any]) -> Iterator[None]:
    """Mark the block as a computation of the library: plain tensors are its own constants, unless
    some argument is plain.
    """
    before = thread.constants
    thread.constants = before or not any(
        isinstance(t, Tensor) and not takes_over(type(t)) for t in leaves(args, kwargs)
    )
    try:
        yield
    finally:
        thread.constants = before


# ---- operators ---------------------------------------------------------------------------------
# (operator, arguments) -> results in the graph; set by `level`
recorded: Callable[..., Any] = NotImplemented


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator."""
    if not takes(args, kwargs):
        return func._compute(*args, **kwargs)
    if thread.below or func._past_autograd() or above_decomposition():
        return handled(func, args, kwargs)
    if func._has_autograd():
        return func._compute(*args, **kwargs)
    if func._can_decompose() and not func._opname.endswith("_backward"):
        return func._compute(*args, **kwargs)
    wanted = local.grad and any(isinstance(x, Tensor) and x._rg for x in leaves(args, kwargs))
    if (
        not wanted
        or func._opname == "detach"
        or func.namespace not in ("aten", "pellucid")
        or _gives_values(func)
    ):
        with passed_autograd():
            return handled(func, args, kwargs)
    return recorded(func, args, kwargs)


def _gives_values(func: Any) -> bool:
    """Return whether the results are numbers, not tensors, and so have no gradient."""
    returns = func._schema.returns
    return bool(returns) and not any(r.type.base == "Tensor" for r in returns)


class Unhandled(TypeError):
    """Raised if no mode and no type handles an operator. Python operators (`x + y`) then try the
    other operand.
    """


def _asked(
    handler: Any, kind: type, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Ask a mode or a tensor type to run an operator: by the rule that `register_torch_dispatch`
    registered for exactly this class, else by its `__torch_dispatch__`.
    """
    rule = func.py_kernels.get(kind)
    if rule is not None:
        return rule(handler, func, types, args, kwargs)
    return handler.__torch_dispatch__(func, types, args, kwargs)


def gives_views(func: Any) -> bool:
    """Return whether results of an operator may be views of its first argument."""
    return func.is_view or (
        func.namespace == "pellucid" and getattr(PRIMITIVES.get(func._opname), "view", False)
    )


def count_writes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> None:
    """Update write counters after a type has handled an operator: count its writes, and let views
    share the counter of their base.
    """
    if gives_views(func):
        version = version_of(args[0])
        for t in leaves((made,), {}):
            if isinstance(t, Tensor) and type(t) not in FAST_TYPES and t is not args[0]:
                t._ver = version
    elif func._schema.is_mutable:
        for k, a in enumerate(func._schema.arguments):
            if a.is_write:
                for t in leaves((args[k] if k < len(args) else kwargs.get(a.name),), {}):
                    if isinstance(t, Tensor) and type(t) not in FAST_TYPES:
                        bump(t, func._opname)


def handled(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator below autograd: by the innermost mode, else by a type of the arguments, else
    compute it.
    """
    found = handlers(args, kwargs)
    types = tuple([type(v) for v in found])
    modes = thread.modes
    if modes:
        with only(modes[:-1]):
            made = _asked(modes[-1], type(modes[-1]), func, types, args, kwargs)
        if made is not NotImplemented:
            return made
    for value in found:
        with only(()):
            made = _asked(type(value), type(value), func, types, args, kwargs)
        if made is not NotImplemented:
            count_writes(func, args, kwargs, made)
            return made
    if found:
        raise Unhandled(
            f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
            + "".join([f"  - mode object {modes[-1]!r}\n"] if modes else [])
            + "".join(f"  - tensor subclass {kind!r}\n" for kind in types)
            + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
        )
    with only(()):
        return func._below(*args, **kwargs)
