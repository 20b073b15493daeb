"""What a function that `torch.func` differentiates may write to: its own arguments and what it made
itself, but no tensor that it found outside.

While such a function runs, each tensor that no node describes gets a counter of writes that knows
when it was made; others are as old as their node. Whatever is older than the innermost transform was
captured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import GraphError
from ..modes import local, state
from ..tape import count
from ..tensor import Tensor, node_of, version_of


class _Transform:
    """A transform that runs: when it began, and what its function was given."""

    def __init__(self, arguments: list[Tensor], leaves: bool, given: list[Tensor]) -> None:
        self.start = count()
        self.depth = local.transforms
        self.leaves = leaves  # its arguments are leaves of a graph, which nobody may write to
        self.arguments = {id(a) for a in arguments}
        self.given = {id(_root(x)) for x in given}
        self.bases = {id(a._view.base) for a in arguments if a._view is not None}


# Tells in PyTorch's words which operator in place the library runs; the root package puts it here.
NAMED: list[Callable[[], str]] = []


@contextmanager
def running(arguments: list[Any], leaves: bool, given: Iterable[Any] = ()) -> Iterator[None]:
    """Inside the block a function is differentiated with respect to these arguments; `given` are the
    others.
    """
    others = [x for x in given if isinstance(x, Tensor)]
    outer, local.inside = local.inside, _Transform([_bottom(a) for a in arguments], leaves, others)
    _count(1)
    try:
        yield
    finally:
        local.inside = outer
        _count(-1)


_running = 0  # in all threads
_lock = threading.Lock()


def _count(change: int) -> None:
    global _running
    with _lock:
        _running += change
        state.born = stamped if _running else None


def _bottom(t: Tensor) -> Any:
    """The samples that a batched tensor stands for; another tensor itself."""
    while t._x is not None and "physical" in t._x:
        t = t._x["physical"]
    return t


def innermost_maps() -> bool:
    """Whether the innermost transform maps a function, and differentiates none."""
    return local.inside is None or local.transforms > local.inside.depth


def stamped(made: Tensor, source: Tensor | None = None) -> Tensor:
    """The same new tensor, which knows when it was made; in the memory of `source` it is as old as
    that.
    """
    if local.inside and (source is None or not _captured(_root(source), local.inside)):
        version_of(made).born = count()
    return made


def _root(t: Tensor) -> Any:
    t = _bottom(t)
    return t if t._view is None else t._view.base


def _captured(root: Tensor, inside: _Transform) -> bool:
    if id(root) in inside.arguments or id(root) in inside.given:
        return False
    node = node_of(root._node)
    born = 0 if root._ver is None else root._ver.born
    return max(born, 0 if node is None else node.seq) < inside.start


def check_own(t: Tensor, values: bool = True) -> None:
    """Refuse to change a tensor that the function being differentiated did not make, and to write
    to the `values` of what it is differentiated for.
    """
    inside, place = local.inside, _bottom(t)
    if not inside:
        return
    view = place._view
    known = id(place) in inside.arguments
    if known or view is not None and id(view.base) in inside.arguments | inside.bases:
        if values and inside.leaves and local.grad:
            raise GraphError(
                f"a {'' if known else 'view of a '}leaf Variable that requires grad is being used in an in-place operation."
            )
    elif _captured(_root(t), inside):
        raise GraphError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"({NAMED[0]()}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
            "transformed to explicitly accept the mutated Tensor(s) as inputs."
        )
