"""The memory that a tensor, module, optimizer or graph holds: each storage counted once, saved
values by operation and line.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...arrays import numpy_cpu
from ...core.tape import Node, walk
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError
from ..layers import _bytes as bytes_text
from .naming import _DEPTH, _OBJECTS, _PLAIN, members
from .places import passed_at, put_in_class, stored_at, user_files
from .result import Explanation

_LINES = 10  # places of saved values that the text shows; `details` has all


OF_TRACEBACKS = (
    "keep the text of the exception, str(error), or error.with_traceback(None): a traceback holds all variables of the functions "
    "that it went through"
)


def owner(array: Any) -> Any:
    """The array that owns the memory an array looks at."""
    return numpy_cpu.owner(array) if isinstance(array, np.ndarray) else array


class Ledger:
    """Storages by what they are for; each counted once, under the first heading that claims it."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.rows: dict[tuple[str, str | None, int | None], int] = {}
        self._held: list[Any] = []  # keeps ids from being used again

    def add(self, what: str, array: Any, file: str | None = None, line: int | None = None) -> int:
        """Count an array's storage; the bytes that it adds."""
        if type(array) is not np.ndarray:
            return 0
        store = owner(array)
        if id(store) in self.seen:
            return 0
        self.seen.add(id(store))
        self._held.append(store)
        key = (what, file, line)
        self.rows[key] = self.rows.get(key, 0) + store.nbytes
        return int(store.nbytes)

    def tensor(self, what: str, t: Tensor) -> None:
        """A tensor's values and its gradient."""
        self.add(what, t._array)
        if t._grad is not None:
            self.add("gradients", t._grad._array)

    def graph(self, roots: Iterable[Any]) -> int:
        """The values that the graphs behind some edges keep for backward; the number of nodes."""
        count = 0
        edges = list(walk(roots))
        for e in edges:
            if isinstance(e, Tensor):
                self.tensor("leaves of the graph", e)
        for e in sorted((n for n in edges if isinstance(n, Node)), key=lambda n: n.seq):
            count += 1
            line = e.line if e.saved else None
            for a in arrays_in(e.saved):
                self.add(
                    f"saved by {e.op.name}",
                    a,
                    line.file if line else None,
                    line.line if line else None,
                )
        return count

    def totals(self) -> dict[str, int]:
        """Bytes by heading, saved values in one."""
        found: dict[str, int] = {}
        for (what, _, _), size in self.rows.items():
            heading = "saved for backward" if what.startswith("saved by ") else what
            found[heading] = found.get(heading, 0) + size
        return found


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """The arrays in nested lists, tuples and dicts of arrays and tensors."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Tensor):
        yield from arrays_in(value._array)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from arrays_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays_in(part)


def what_it_holds(x: Any, name: str | None) -> Explanation:
    """The answer: `details` has a dict per storage heading (and, for saved values, per line): what,
    bytes, file, line.
    """
    ledger = Ledger()
    facts: list[str] = []
    if isinstance(x, Tensor):
        ledger.tensor("its values", x)
        store = owner(x._array)
        if isinstance(x._array, np.ndarray) and store.nbytes > x._array.nbytes:
            facts.append(
                f"it is a view of {bytes_text(x._array.nbytes)} into a storage of {bytes_text(store.nbytes)}, which it keeps alive; "
                "clone() keeps only its part"
            )
        elif store is not x._array:
            facts.append("it is a view: it shares the storage of its base tensor")
        nodes = ledger.graph([x._node]) if x._node is not None else 0
        if nodes:
            facts.append(f"its graph has {nodes} operations")
        label = name or f"the tensor of shape {tuple(x.shape)}"
    elif callable(getattr(x, "named_parameters", None)):
        for p in x.parameters():
            ledger.tensor("parameters", p)
        for b in x.buffers():
            ledger.add("buffers", b._array)
        for p in x.parameters():
            if p._node is not None:
                ledger.graph([p._node])
        label = name or type(x).__name__
    elif isinstance(getattr(x, "param_groups", None), list):
        for group in x.param_groups:
            for p in group["params"]:
                ledger.tensor("parameters", p)
        for state in x.state.values():
            for key, value in state.items() if isinstance(state, dict) else ():
                for a in arrays_in(value):
                    ledger.add(f"optimizer state {key}", a)
        label = name or type(x).__name__
    else:
        return _of_container(x, name, ledger)
    return _answer(ledger, label, facts)


def _reached(x: Any, name: str) -> list[tuple[str, Tensor]]:
    """The tensors that a container or another object leads to, each once, with their names."""
    found: list[tuple[str, Tensor]] = []
    seen, waiting = {id(x)}, deque([(name, x, 0)])
    while waiting and len(seen) < _OBJECTS:
        path, value, depth = waiting.popleft()
        if isinstance(value, Tensor):
            found.append((path, value))
            continue
        for step, part in members(value) if depth < _DEPTH else ():
            if not isinstance(part, _PLAIN) and id(part) not in seen:
                seen.add(id(part))
                waiting.append((path + step, part, depth + 1))
    return found


def _of_container(x: Any, name: str | None, ledger: Ledger) -> Explanation:
    """A list, a dict, or an object of the program's with tensors in it."""
    plain = isinstance(x, (list, tuple, dict, set, frozenset, deque))
    found = _reached(x, name or "it")
    if not found and not plain:
        raise ArgumentTypeError(
            f"explain(): expected a tensor, a module, an optimizer or a list of tensors, got {type(x).__name__}"
        )
    facts: list[str] = []
    for _, t in found:
        ledger.tensor("values", t)
    nodes = ledger.graph([t._node for _, t in found if t._node is not None])
    if nodes:
        facts.append(f"their graphs have {nodes} operations")
    label = name or (
        f"the {type(x).__name__} of {len(x)} items" if plain else f"the {type(x).__name__}"
    )
    answer = _answer(ledger, label, facts)
    where = next((line for kind in type(x).__mro__ if (line := put_in_class(kind))), None)
    graphs = [path for path, t in found if t._node is not None]
    if where is None and found and name is not None:
        where = stored_at((graphs or [found[0][0]])[0], user_files())
    needed, held = _used(found)
    if held >= 2 * needed > 0:
        answer.text += (
            f"; its tensors are views that use {bytes_text(needed)} "
            f"of storages of {bytes_text(held)}, which they keep alive"
        )
        answer.fix = "clone() what is kept: a view keeps the whole storage that it looks at"
        if where is not None:
            where = passed_at(where, (ast.Subscript, ast.Call, ast.Attribute)) or where
    elif graphs and "__traceback__" in graphs[0]:
        answer.fix = OF_TRACEBACKS
    elif graphs and (plain or where is not None):
        answer.fix = "its tensors keep their graphs: store loss.item(), or tensor.detach() where the values are needed"
    elif len(found) > 1 and plain and not answer.fix:
        answer.fix = f"it has {len(found)} tensors: if it only grows, drop the oldest, or keep numbers or smaller tensors"
    if where is not None:
        answer.file, answer.line = where.file, where.line
    return answer


def _used(found: list[tuple[str, Tensor]]) -> tuple[int, int]:
    """Bytes of the elements of the tensors that are views of larger storages, and of these
    storages, each once; (0, 0) without any.
    """
    needed: dict[int, int] = {}
    stores: dict[int, int] = {}
    for _, t in found:
        if isinstance(t._array, np.ndarray):
            store = owner(t._array)
            needed[id(store)] = needed.get(id(store), 0) + t._array.nbytes
            stores[id(store)] = store.nbytes
    views = [key for key, size in stores.items() if size > needed[key]]
    return sum(needed[k] for k in views), sum(stores[k] for k in views)


def _answer(ledger: Ledger, label: str, facts: list[str]) -> Explanation:
    totals = ledger.totals()
    whole = sum(totals.values())
    parts = ", ".join(
        f"{what} {bytes_text(size)}"
        for what, size in sorted(totals.items(), key=lambda pair: -pair[1])
    )
    saved = sorted(
        ((k, v) for k, v in ledger.rows.items() if k[0].startswith("saved by ")),
        key=lambda pair: -pair[1],
    )
    facts = [
        f"{what} at {file}:{line}: {bytes_text(size)}" if file else f"{what}: {bytes_text(size)}"
        for (what, file, line), size in saved[:_LINES]
    ] + facts
    if len(saved) > _LINES:
        facts.insert(
            _LINES,
            f"... and {len(saved) - _LINES} more places: {bytes_text(sum(v for _, v in saved[_LINES:]))}",
        )
    details = [
        {"what": what, "bytes": size, "file": file, "line": line}
        for (what, file, line), size in ledger.rows.items()
    ]
    fix = ""
    if totals.get("saved for backward", 0) > whole / 2:
        fix = "values saved for backward are freed by backward(), or when the last tensor of the graph is deleted"
    text = f"{label} holds {bytes_text(whole)}" + (
        f": {parts}" if parts else "; no storage of its own"
    )
    return Explanation("memory", text, fix, None, facts, details)
