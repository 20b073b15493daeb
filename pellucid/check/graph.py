"""The operations that led to a loss, in a form that `debug.draw` and the report page can draw, for
either engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..debug.graph import GraphEdge, GraphNode, shape_text
from .events import Op, Value, ancestors

MOST = 20_000  # operations of a graph that are kept for the page


class OpsGraph:
    """Nodes and edges of everything that a value was made of. Nothing of the tensors is kept."""

    def __init__(self, root: Value, names: dict[int, str]) -> None:
        self._nodes: list[GraphNode] = []
        self._edges: list[GraphEdge] = []
        self._leaves: set[int] = set()
        operations = sorted(ancestors([root], limit=MOST), key=lambda op: op.number)
        shown = {op.number for op in operations}
        for op in operations:
            self._add(op, shown, names, root)

    def _add(self, op: Op, shown: set[int], names: dict[int, str], root: Value) -> None:
        arguments = {v.number: name for name, v in op.args.items() if isinstance(v, Value)}
        group = tuple(op.module.path.split(".")) if op.module is not None else ()
        for value in op.inputs:
            made = value.producer
            if made is None or made.number not in shown:
                self._leaf(value, names, group)
                source: Any = ("value", value.number)
            else:
                source = made.number
            self._edges.append(
                GraphEdge(
                    source, op.number, shape_text(value.shape), arguments.get(value.number, "")
                )
            )
        result = root if root.producer is op else op.output
        self._nodes.append(
            GraphNode(
                op.number,
                op.name,
                "result" if root.producer is op else "op",
                title=repr(op),
                shape=shape_text(result.shape) if result is not None else "",
                dtype=result.dtype if result is not None else "",
                group=group,
                line=_Line(op.site) if op.site is not None else None,
            )
        )

    def _leaf(self, value: Value, names: dict[int, str], group: tuple[str, ...]) -> None:
        if value.number in self._leaves:
            return
        self._leaves.add(value.number)
        name = names.get(value.id)
        kind = "leaf" if value.requires_grad else "constant"
        title = name or ("a leaf" if value.requires_grad else "a tensor")
        key = ("value", value.number)
        self._nodes.append(
            GraphNode(
                key,
                name or kind,
                kind,
                title=title,
                shape=shape_text(value.shape),
                dtype=value.dtype,
                group=group,
            )
        )

    def nodes(self) -> Iterator[GraphNode]:
        """Each after those that its value is made of."""
        return iter(self._nodes)

    def edges(self) -> Iterator[GraphEdge]:
        """Which value goes where."""
        return iter(self._edges)


class _Line:
    """Where an operation stands, without the code object."""

    __slots__ = ("file", "line", "text")

    def __init__(self, site: Any) -> None:
        self.file, self.line, self.text = site.file, site.line, site.text

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.text}"
