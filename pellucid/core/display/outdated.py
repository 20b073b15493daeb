"""Views that must not be used any more, or not be written to, and PyTorch's messages about them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import GraphError

# By the view's kind: why a write through the view is forbidden.
_UNCLEAR = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
    "inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked)."
)
_REFUSED = {
    "no_grad": _UNCLEAR.format("no_grad"),
    "inference": _UNCLEAR.format("inference_mode"),
    "multi": " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one.",
    "custom": " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
    "forbidden. You can fix this by cloning the output of the custom Function.",
}
WRITTEN = "is being modified inplace"
BASE_WRITTEN = "its base or another view of its base has been modified inplace"


class Outdated:
    """Replaces the node of a view of a restricted kind after its base was written to. Any use of
    the view in the graph then raises PyTorch's error.
    """

    __slots__ = ("kind", "made")

    def __init__(self, view: Any) -> None:
        self.made, self.kind = view._node, view._view.kind

    def __bool__(self) -> NoReturn:
        raise GraphError(refusal(self.made, self.kind, BASE_WRITTEN))

    def __getattr__(self, name: str) -> NoReturn:
        raise GraphError(refusal(self.made, self.kind, BASE_WRITTEN))


def refusal(edge: Any, kind: str, what: str = WRITTEN) -> str:
    """PyTorch's message for a view of this kind, made by `edge`, that must not be written to or
    used.
    """
    edge = edge.made if type(edge) is Outdated else edge
    node = getattr(edge, "node", edge)
    told = (
        "A view was created in"
        if node is None
        else f"Output {getattr(edge, 'index', 0)} of {node.name().rpartition('Backward')[0]} is a view"
    )
    if kind in ("multi", "custom") and node is not None:
        told += f" and {what}."
    else:
        told += " of a view which was created in" if node is not None else ""
        told += (
            f" inference mode and {what} in normal mode."
            if kind == "inference"
            else f" no_grad mode and {what} with grad mode enabled."
        )
    return told + _REFUSED[kind]


def restrict(view: Any) -> None:
    """Outdate a view of a restricted kind at the next write to its memory."""
    # if the base needs no gradient yet, `follow` does this when that changes
    if view._view.kind in _REFUSED and view._view.base._rg:
        remember(view, outdate)


_reattach: list[Callable[[Any], None]] = []


def reattaches(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Decorator that registers the function which recomputes the node of a view."""
    _reattach[:] = [function]
    return function


def follow(view: Any, wanted: bool) -> bool:
    """Whether a view requires a gradient, now that `requires_grad` of its base has been set to
    `wanted`. The next write then recomputes the view's node, or outdates the view.
    """
    wanted = wanted and view._view.kind != "bits"
    if wanted:
        remember(view, outdate if view._view.kind in _REFUSED else _reattach[0])
    return wanted


def remember(view: Any, then: Callable[[Any], None]) -> None:
    """Call `then(view)` at the next write to the view's memory."""
    known = view._ver.restricted
    if known is None:
        known = view._ver.restricted = []
    elif len(known) > 32 and len(known) & (len(known) - 1) == 0:
        known[:] = [held for held in known if held[0]() is not None]
    known.append((weakref.ref(view), then))


def outdate(view: Any) -> None:
    """Mark a view of a restricted kind as outdated, because its base or the view itself was written
    to.
    """
    known = view._view
    if known is not None and known.base._rg and known.kind in _REFUSED:
        view._node = view._node if type(view._node) is Outdated else Outdated(view)
        view._rg = True


def outdate_all(version: Any) -> None:
    """Notify the remembered views after a write to their memory."""
    known, version.restricted = version.restricted, None
    for ref, then in known:
        view = ref()
        if view is not None:
            then(view)
