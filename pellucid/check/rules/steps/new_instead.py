"""Updates that make a new tensor in the place of changing the parameter: `p = p - lr * p.grad`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Op, Site, Value

_FEWEST = 4  # times at one place
_MOST = 256  # leaves


class NewInstead:
    """Looks at results that are made of a leaf with a gradient, outside of the graph."""

    def __init__(self) -> None:
        # by place and id of a leaf: the leaf, its elements then, how often, whether they are the same
        self._held: dict[tuple[Site | None, int], list[Any]] = {}

    def see(self, op: Op) -> None:
        """A product, sum or difference outside of the graph, in a new tensor."""
        if not op.inputs or not op.direct or op.name not in ("add", "sub", "mul"):
            return
        leaf = _leaf(op.inputs[0])
        if leaf is None:
            return
        held = self._held.get((op.site, leaf.id))
        if held is not None:
            held[2] += 1
            if held[2] >= _FEWEST and held[2] & (held[2] - 1) == 0:
                now = leaf.numpy()
                held[3] = now is not None and np.array_equal(now, held[1])
        elif len(self._held) < _MOST and leaf.gradient is not None:
            array = leaf.numpy()
            if array is not None:
                self._held[op.site, leaf.id] = [leaf, array.copy(), 1, False]

    def unchanged(self, stepped: set[int]) -> tuple[Site, Value, int] | None:
        """The last place where that holds for all leaves: they are as they were then, and no step
        (of `stepped`, by id) has used them.
        """
        sites: dict[Site | None, tuple[Value, int] | None] = {}
        for (site, _), (leaf, _, times, same) in self._held.items():
            if not same or leaf.id in stepped:
                sites[site] = None
            elif site not in sites:
                sites[site] = leaf, times
        found = [
            (site, *held) for site, held in sites.items() if held is not None and site is not None
        ]
        return max(found, key=lambda item: item[0].line, default=None)


def _leaf(value: Value) -> Value | None:
    """The leaf that a value is, or a multiple of."""
    made = value.producer
    if value.is_leaf and value.requires_grad:
        return value
    if made is not None and made.name in ("mul", "data", "detach") and made.inputs:
        first = made.inputs[0]
        return first if first.is_leaf and first.requires_grad else None
    return None
