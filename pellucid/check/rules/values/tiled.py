"""Rows that belong together by their order: labels that are repeated for several rows of a sample,
edges of graphs that are put into one batch.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...events import VIEWS, Op, Value, ancestors, lineage, made_by
from ...rule import Rule
from ..source.places import Place, function_around

_TILES = frozenset(("repeat", "tile", "cat"))
_SHAPES = frozenset(("reshape", "view", "flatten"))
_SAME = VIEWS - {"repeat", "tile", "gather", "masked_select", "index_select"} | {"sub", "add"}
_USES = frozenset(("getitem", "index_select", "index_add", "scatter_add"))
_MOST = 1 << 18  # elements


def tiled_apart(op: Op) -> tuple[Op, Op, int, int] | None:
    """(what repeats, what arranges the rows, rows of each sample, samples) where an index or labels
    are repeated the other way round than the rows that they belong to.
    """
    if op.name in ("index_add", "scatter_add"):
        index, rows = op.inputs[1:3] if len(op.inputs) == 3 else (None, None)
    else:
        index, rows = op.args.get("target"), op.args.get("input")
    if not isinstance(index, Value) or not isinstance(rows, Value) or not rows.ndim:
        return None
    if index.requires_grad or not index.ndim or index.shape[0] != rows.shape[0]:
        return None
    made = made_by(index, _SAME)
    if made is None or not made.inputs or not made.inputs[0].ndim:
        return None
    out = made.output
    total = index.shape[0]
    count = made.inputs[0].shape[0]
    if made.name == "cat":
        if len({v.number for v in made.inputs}) != 1 or len(made.inputs) < 2:
            return None
    elif made.name not in ("repeat", "tile", "repeat_interleave"):
        return None
    if out is None or out.shape[:1] != (total,) or not count or total % count:
        return None
    times = total // count
    if times < 2 or count < 2 or times == count:
        return None
    whole = made.name != "repeat_interleave"
    wrong = (count, times) if whole else (times, count)
    placed, right = None, False
    for o in ancestors([rows], 2000):
        if o.name not in _SHAPES or not o.inputs or o.inputs[0].ndim < 3:
            continue
        result = o.output
        if result is not None and result.shape[:1] != (total,):
            continue
        first = o.inputs[0].shape[:2]
        if first == wrong:
            placed = o
        elif first == wrong[::-1]:
            right = True
    return None if placed is None or right else (made, placed, times, count)


class Graphs:
    """Edges of several graphs that are joined as they are, while their nodes are joined, too: all of
    them are edges of the first nodes.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._sizes: list[tuple[Any, tuple[int, ...]]] = []  # code of a function, rows joined there
        # by number of an operation that joined edges: code, (smallest, largest) of each graph
        self._edges: dict[int, tuple[Op, Any, list[tuple[int, int]]]] = {}
        self._told: set[Any] = set()
        self._looked: dict[Any, int] = {}

    def on_op(self, op: Op) -> None:
        """Rows or edges are joined, or edges are used."""
        if op.name == "cat":
            self._joined(op)
        elif self._edges and op.name in _USES:
            self._used(op)

    def _joined(self, op: Op) -> None:
        if op.site is None or len(op.inputs) < 3:
            return
        dim = op.args.get("dim", 0)
        first = op.inputs[0]
        if dim in (1, -1) and first.ndim == 2 and first.shape[0] == 2 and "int" in first.dtype:
            looked = self._looked[op.site] = self._looked.get(op.site, 0) + 1
            if looked > 16 or sum(v.numel for v in op.inputs) > _MOST:
                return
            arrays = [v.numpy() for v in op.inputs]
            if any(a is None or not a.size for a in arrays):
                return
            if len(self._edges) >= 16:
                self._edges.pop(next(iter(self._edges)))
            ends = [(int(a.min()), int(a.max())) for a in arrays]
            self._edges[op.number] = op, op.site.code, ends
        elif dim == 0 and first.ndim:
            self._sizes = [*self._sizes[-15:], (op.site.code, tuple(v.shape[0] for v in op.inputs))]

    def _used(self, op: Op) -> None:
        nodes = op.args.get("input")
        if not isinstance(nodes, Value) or not nodes.ndim:
            return
        for index in op.inputs[1:]:
            if index.is_floating_point or index.ndim != 1:
                continue
            made = next(
                (o for o in lineage(index, VIEWS, 8) if o.number in self._edges),
                None,
            )
            if made is None or made.site in self._told:
                continue
            edges, code, ends = self._edges[made.number]
            for where, sizes in self._sizes:
                if where is not code or len(sizes) != len(ends) or sum(sizes) != nodes.shape[0]:
                    continue
                starts = np.cumsum((0, *sizes))
                if all(
                    high < size and low < start
                    for (low, high), size, start in zip(
                        ends[1:], sizes[1:], starts[1:], strict=False
                    )
                ):
                    self._told.add(made.site)
                    self._rule.report(
                        _appended(edges) or edges.site,
                        f"the edges of {len(sizes)} graphs are joined without an offset, although their {nodes.shape[0]} nodes are joined one graph "
                        f"after the other: all edges are between the first {max(sizes)} nodes.",
                        evidence={"nodes": list(sizes[:6]), "used_at": op.site},
                        fix="add the number of nodes in the graphs before: `edges.append(e + start); start += len(x)`",
                    )
                    return


def _appended(op: Op) -> Place | None:
    """The line that appends to the list that is joined."""
    site = op.site
    call = site.call if site is not None else None
    function = function_around(site.file, site.line) if site is not None else None
    if site is None or call is None or function is None:
        return None
    name = call.argument("tensors", ["tensors"], False)
    for n in ast.walk(function):
        if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "append":
            if ast.unparse(n.func.value) == name:  # type: ignore[attr-defined]
                return Place(site.file, n.lineno)
    return None
