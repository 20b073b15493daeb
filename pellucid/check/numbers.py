"""Numbers of objects that are kept longer than the objects."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

MOST_HELD = 64  # lists and other things that cannot be referred to weakly

_count = count(1)
_known: dict[int, tuple[Callable[[], Any], int]] = {}  # by `id` of an object that lives
_held: dict[int, Any] = {}


def number_of(thing: Any) -> int:
    """The number of an object, which no other one ever gets: `id` may be given to a later one as
    soon as the object is gone. Of None 0.

    What cannot be referred to weakly is held, the last few of them.
    """
    key = id(thing)
    held = _known.get(key)
    if held is not None and held[0]() is thing:
        return held[1]
    if thing is None:
        return 0

    def forget(ref: Callable[[], Any]) -> None:
        if (now := _known.get(key)) is not None and now[0] is ref:
            del _known[key]

    number = next(_count)
    try:
        _known[key] = weakref.ref(thing, forget), number
    except TypeError:
        _known[key] = (lambda: thing), number
        _held[key] = thing
        if len(_held) > MOST_HELD:
            first = next(iter(_held))
            del _known[first], _held[first]
    return number
