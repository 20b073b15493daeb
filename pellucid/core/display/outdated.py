"""Views that must not be used any more, or not be written to, and PyTorch's words for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import GraphError

# Why the gradient of a write through a view would be another than one thinks, by the view's kind.
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
    """In the place of a view's node after its base was written to, for the kinds of views that have
    no gradient then: whoever asks the graph about the view gets the error.
    """

    __slots__ = ("kind", "made")

    def __init__(self, view: Any) -> None:
        self.made, self.kind = view._node, view._view.kind

    def __bool__(self) -> NoReturn:
        raise GraphError(refusal(self.made, self.kind, BASE_WRITTEN))

    def __getattr__(self, name: str) -> NoReturn:
        raise GraphError(refusal(self.made, self.kind, BASE_WRITTEN))


def refusal(edge: Any, kind: str, what: str = WRITTEN) -> str:
    """Why a view of this kind, which `edge` made, must not be written to or used."""
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
    """Remember a view that is outdated as soon as its memory is written to."""
    # of a base that wants no gradient, it is seen when that changes
    if view._view.kind in _REFUSED and view._view.base._rg:
        remember(view, outdate)


_reattach: list[Callable[[Any], None]] = []


def reattaches(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Name the function that gives a view its place in the graph anew."""
    _reattach[:] = [function]
    return function


def follow(view: Any, wanted: bool) -> bool:
    """Whether a view wants a gradient when its base does, which has just been decided. At the next
    write it becomes a view of what the base is then, or is outdated.
    """
    wanted = wanted and view._view.kind != "bits"
    if wanted:
        remember(view, outdate if view._view.kind in _REFUSED else _reattach[0])
    return wanted


def remember(view: Any, then: Callable[[Any], None]) -> None:
    """Call `then` with the view as soon as its memory is written to."""
    known = view._ver.restricted
    if known is None:
        known = view._ver.restricted = []
    elif len(known) > 32 and len(known) & (len(known) - 1) == 0:
        known[:] = [held for held in known if held[0]() is not None]
    known.append((weakref.ref(view), then))


def outdate(view: Any) -> None:
    """The base of a view, or the view itself, was written to."""
    known = view._view
    if known is not None and known.base._rg and known.kind in _REFUSED:
        view._node = view._node if type(view._node) is Outdated else Outdated(view)
        view._rg = True


def outdate_all(version: Any) -> None:
    """Memory was written to: the views of it that are remembered are told."""
    known, version.restricted = version.restricted, None
    for ref, then in known:
        view = ref()
        if view is not None:
            then(view)
