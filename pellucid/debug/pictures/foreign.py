"""Draw PyTorch's own graphs: anything with PyTorch's interface (`grad_fn`, `next_functions`) is
walked, and PyTorch is not imported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from ..graph import GraphEdge, GraphNode, leaf_names, module_of, shape_text, short_name


def is_foreign(x: Any) -> bool:
    """True for a tensor of another library that has a node or is a leaf requiring a gradient."""
    node = getattr(x, "grad_fn", None)
    return callable(getattr(node, "name", None)) and hasattr(node, "next_functions")


class ForeignGraph:
    """The graph of a tensor of real PyTorch: names, shapes where PyTorch tells them, what is kept;
    no values of operations, no lines.
    """

    left_out = 0

    def __init__(self, t: Any, names: Any = None) -> None:
        self.tensor, self.names = t, leaf_names(names)
        root = t.grad_fn
        # Python objects for nodes are made when asked for: kept, so that an id stays its own.
        self._kept = {id(root): root}
        inputs: dict[int, list[tuple[int, int]]] = {}
        waiting, order, counts = deque([root]), [], {id(root): 0}
        while waiting:
            node = waiting.popleft()
            order.append(node)
            found = inputs[id(node)] = []
            for other, index in node.next_functions:
                if other is None:
                    continue
                other = self._known(other)
                if id(other) not in counts:
                    counts[id(other)] = 0
                    waiting.append(other)
                counts[id(other)] += 1
                found.append((id(other), index))
        self._inputs = inputs
        ready, backwards = [root], []
        while ready:
            node = ready.pop()
            backwards.append(node)
            for key, _ in inputs[id(node)]:
                counts[key] -= 1
                if not counts[key]:
                    ready.append(self._kept[key])
        self._order = backwards[::-1]

    def _known(self, node: Any) -> Any:
        """The object first seen for a node: PyTorch's compare equal, but may be made anew."""
        return self._kept.setdefault(id(node), node)

    def _shape(self, node: Any, index: int = 0) -> str:
        variable = getattr(node, "variable", None)
        if variable is not None:
            return shape_text(variable.shape)
        metadata = getattr(node, "_input_metadata", None) or ()
        return shape_text(tuple(metadata[index].shape)) if index < len(metadata) else ""

    def _group(self, node: Any) -> tuple[str, ...]:
        for key, _ in self._inputs[id(node)]:
            variable = getattr(self._kept[key], "variable", None)
            if variable is not None and id(variable) in self.names:
                return module_of(self.names[id(variable)])
        return ()

    def nodes(self) -> Iterable[GraphNode]:
        placed: set[int] = set()
        for node in self._order:
            if getattr(node, "variable", None) is not None:
                continue
            group = self._group(node)
            for key, _ in self._inputs[id(node)]:
                variable = getattr(self._kept[key], "variable", None)
                if variable is not None and key not in placed:
                    placed.add(key)
                    kind = type(variable).__name__
                    name = self.names.get(
                        id(variable), kind.lower() if kind != "Tensor" else "leaf"
                    )
                    last = name.rpartition(".")[2] if group and module_of(name) == group else name
                    yield GraphNode(
                        key,
                        last,
                        "leaf",
                        f"{kind} {name}",
                        self._shape(self._kept[key]),
                        str(variable.dtype),
                        group,
                    )
            kind = "result" if node is self._order[-1] else "op"
            kept = [s.removeprefix("_saved_") for s in dir(node) if s.startswith("_saved_")]
            title = node.name()
            yield GraphNode(
                id(node),
                short_name(title),
                kind,
                title,
                self._shape(node),
                "",
                group,
                notes=("saves " + ", ".join(kept),) if kept else (),
            )

    def edges(self) -> Iterable[GraphEdge]:
        for node in self._order:
            for key, index in self._inputs[id(node)]:
                yield GraphEdge(key, id(node), self._shape(self._kept[key], index))

    def about(self) -> str:
        """One line on what is drawn."""
        return f"result: shape {shape_text(self.tensor.shape)}, {self.tensor.dtype}, made by {self.tensor.grad_fn.name()}"

    def text(self) -> str:
        """The nodes, the result last."""
        return "\n".join(f"- {n.title}  {n.shape}" for n in self.nodes())
