"""Keeping watch: what a program did with its tensors, noted while it runs, so that `explain` can say what happened.

Noted are, for values that come from tensors requiring a gradient: which operation made what of what, on which line; where a value
left the graph (`detach`, `no_grad`, integers, Python numbers, NumPy); backward calls, and where in them a gradient became zero;
where the first NaN or Inf appeared. Tensors are held weakly, and the notes are bounded: the oldest are dropped.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ..core import observe, source
from ..core.tape import Node
from ..core.tensor import OutputSlot, Tensor

TINY = 1e-12  # a gradient smaller than this, relative to what came in, counts as zero
_DIGESTED = 1 << 16  # values of at most so many elements are recognised when they come back as another tensor


class Step(NamedTuple):
    """One noted event: `kind` is "op", or the slug of the way in which the value left the graph."""

    kind: str
    name: str
    inputs: tuple[int, ...]
    output: int | None
    site: source.Site | None
    module: str | None

    @property
    def line(self) -> source.Line | None:
        """The user's line."""
        return source.describe(self.site)


class Fault(NamedTuple):
    """The place where a gradient became zero, or a value NaN or Inf."""

    cause: str
    name: str
    site: source.Site | None
    detail: str

    @property
    def line(self) -> source.Line | None:
        """The user's line."""
        return source.describe(self.site)


class Growth(NamedTuple):
    """How a gradient grew on its way: magnitude at first and at the end, factors above one, and the largest of them with its place."""

    first: float
    last: float
    factors: int
    largest: float
    name: str
    site: source.Site | None

    @property
    def line(self) -> source.Line | None:
        """The user's line with the largest factor."""
        return source.describe(self.site)


class Watch:
    """The notes. `debug.watch()` makes one and starts it; it is a context manager, and `stop()` ends it."""

    def __init__(self, limit: int = 100_000) -> None:
        self.limit = limit
        self.dropped = 0
        self.steps: deque[Step] = deque()
        self.users: dict[int, list[Step]] = {}  # by input
        self.makers: dict[int, list[Step]] = {}  # by output
        self.backwards: deque[tuple[tuple[int, ...], source.Site | None]] = deque(maxlen=256)
        self.started = source.capture(3)
        self.bad_forward: Fault | None = None
        self.bad_backward: Fault | None = None
        self._tokens: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._next = 0
        self._tainted: dict[int, None] = {}  # tokens of what comes from tensors that require a gradient, oldest first
        self._facts: dict[int, dict[str, Any]] = {}  # by token of leaves: accumulated, cleared, zero
        self._arrays: dict[int, tuple[Any, int]] = {}  # arrays of tainted tensors by id: (weak reference, token)
        self._digests: dict[bytes | None, Step] = {}  # values that left the graph, by content
        self._growth: dict[int, tuple[Any, Growth]] = {}  # during a backward, by id of node
        self._contents: dict[bytes | None, int] = {}  # computed values, by content
        self._zero: dict[int, tuple[Any, Fault]] = {}  # during a backward: where the gradient of a node became zero
        self._modules: list[str] = []
        self.masks: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # bool masks as numbers, by id of array
        self.active = False

    # ---- switching ---------------------------------------------------------------------------
    def start(self) -> Watch:
        """Begin to take notes."""
        if not self.active:
            observe.add_observer(self)
            self.active = True
        return self

    def stop(self) -> None:
        """Take no more notes; what is noted stays."""
        if self.active:
            observe.remove_observer(self)
            self.active = False

    def __enter__(self) -> Watch:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    # ---- tensors -----------------------------------------------------------------------------
    def known(self, t: Tensor) -> int | None:
        """The number under which a tensor is noted."""
        held = self._tokens.get(id(t))
        return held[1] if held is not None and held[0]() is t else None

    def token(self, t: Tensor) -> int:
        """The number of a tensor, given now if it has none."""
        known = self.known(t)
        if known is not None:
            return known
        key, tokens = id(t), self._tokens
        self._next += 1
        number = self._next

        def forget(ref: Any) -> None:
            held = tokens.get(key)
            if held is not None and held[0] is ref:
                del tokens[key]

        tokens[key] = (weakref.ref(t, forget), number)
        return number

    def comes_from_gradients(self, t: Tensor) -> bool:
        """True when the tensor requires a gradient, or was made, however indirectly, of one that does."""
        return t._rg or self.known(t) in self._tainted

    def _taint(self, t: Tensor) -> int:
        number = self.token(t)
        if number not in self._tainted:
            self._tainted[number] = None
            self._remember_array(t, number)
            if len(self._tainted) > 4 * self.limit:
                del self._tainted[next(iter(self._tainted))]
        return number

    def _remember_array(self, t: Tensor, number: int) -> None:
        array = t._array
        if type(array) is np.ndarray:
            key, arrays = id(array), self._arrays

            def forget(ref: Any) -> None:
                held = arrays.get(key)
                if held is not None and held[0] is ref:
                    del arrays[key]

            arrays[key] = (weakref.ref(array, forget), number)

    def _note(self, kind: str, name: str, inputs: tuple[int, ...], output: int | None, site: source.Site | None = None) -> Step:
        step = Step(kind, name, inputs, output, site or source.capture(3), self._modules[-1] if self._modules else None)
        self.steps.append(step)
        for number in set(inputs):
            self.users.setdefault(number, []).append(step)
        if output is not None:
            self.makers.setdefault(output, []).append(step)
        while len(self.steps) > self.limit:
            self._drop(self.steps.popleft())
        return step

    def _drop(self, step: Step) -> None:
        self.dropped += 1
        for number in set(step.inputs):
            _remove(self.users, number, step)
        if step.output is not None:
            _remove(self.makers, step.output, step)

    # ---- what the engine tells ---------------------------------------------------------------
    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        self._modules.append(name or type(module).__name__)

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        if self._modules:
            self._modules.pop()

    def operation(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        made = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        sources = []
        for x in inputs:
            if isinstance(x, Tensor):
                if x._node is None and x._rg and self.known(x) is None:
                    number = self._returned(x)
                    sources.append(self._taint(x) if number is None else number)
                elif self.comes_from_gradients(x):
                    sources.append(self._taint(x))
                elif self.known(x) is None:
                    number = self._returned(x)
                    if number is not None:
                        sources.append(number)
                    else:
                        self.token(x)
            elif isinstance(x, (float, int)) and not isinstance(x, bool) and self._digests:
                step = self._digests.get(_digest(np.asarray(x)))
                if step is not None and not _written_down(x):
                    sources.append(self._came_back(step))
        self._finite(op, inputs, made)
        if op.name == "cast" and inputs[0]._array.dtype.kind == "b":
            self.masks[id(made[0]._array)] = made[0]._array
        if not sources:
            for t in made:
                if isinstance(t, Tensor):
                    self.token(t)
            return
        needs = any(isinstance(x, Tensor) and x._rg for x in inputs)
        for t in made:
            if not isinstance(t, Tensor):
                continue
            kind = "op"
            if op.name == "detach":
                kind = "detached" if needs else "op"
            elif needs and not t._rg:
                integral = t._array.dtype.kind in "biu" or getattr(op, "vjp", None) is None
                kind = "through-integer" if integral else "no-grad-block"
            node = t.grad_fn
            if node is not None and self._modules:
                node.extra().setdefault("module", self._modules[-1])
            number = self._taint(t)
            self._note(kind, op.name, tuple(sources), number)
            if _telling(t._array):
                self._contents[_digest(t._array)] = number
                if len(self._contents) > 4096:
                    del self._contents[next(iter(self._contents))]

    def inplace(self, name: str, tensor: Tensor, result: Any) -> None:
        if isinstance(result, Tensor) and self.comes_from_gradients(result) and result is not tensor:
            self._note("op", name, (self._taint(result),), self._taint(tensor))

    def read(self, tensor: Tensor, how: str) -> None:
        if how in ("bool", "index") or not self.comes_from_gradients(tensor):
            return
        kind = "through-numpy" if how in ("numpy", "dlpack") else "through-number"
        name = {"dlpack": "__dlpack__"}.get(how, how)
        step = self._note(kind, name, (self._taint(tensor),), None)
        digest = _digest(tensor._array)
        if digest is not None:
            self._digests.setdefault(digest, step)
            if len(self._digests) > 4096:
                del self._digests[next(iter(self._digests))]

    def _came_back(self, step: Step) -> int:
        """A value that had left the graph is used: join it to where it left; the number of the joint."""
        self._next += 1
        self._tainted[self._next] = None
        self._note(step.kind, step.name, step.inputs, self._next, step.site)
        return self._next

    def _returned(self, t: Tensor) -> int | None:
        """The number of a tensor seen for the first time that shares memory with, or repeats, a value that left the graph."""
        array = t._array
        if type(array) is not np.ndarray:
            return None
        while array is not None:
            held = self._arrays.get(id(array))
            if held is not None and held[0]() is array:
                # The memory of a tensor that requires a gradient, without its history: through NumPy if it was read so, else `.data`.
                read = next((s for s in self.users.get(held[1], ()) if s.kind == "through-numpy"), None)
                kind, name, site = (read.kind, read.name, read.site) if read else ("detached", "data", source.capture(3))
                number = self._taint(t)
                self._note(kind, name, (held[1],), number, site)
                return number
            array = getattr(array, "base", None)
        digest = _digest(t._array)
        step = None if digest is None else self._digests.get(digest)
        if step is None:
            origin = self._repeated(t._array)
            if origin is None:
                return None
            step = Step("through-number", "torch.tensor", (origin,), None, source.capture(3), None)
        number = self._taint(t)
        self._note(step.kind, step.name, step.inputs, number, step.site)
        return number

    def _repeated(self, array: np.ndarray) -> int | None:
        """The number of a computed value that a new tensor repeats element by element, as `torch.tensor(value)` does."""
        digest = _digest(array) if _telling(array) else None
        return None if digest is None else self._contents.get(digest)

    def _finite(self, op: Any, inputs: Any, made: Any) -> None:
        if self.bad_forward is not None:
            return
        if all(_finite(t) for t in made) or not all(_finite(x) for x in inputs):
            return
        shown = ", ".join(_range(x) for x in inputs if isinstance(x, Tensor))
        self.bad_forward = Fault("nan-forward", op.name, source.capture(3), f"its inputs were finite: {shown}")

    def backward_start(self, roots: Any) -> None:
        self._zero.clear()
        self._growth.clear()
        for t in roots:
            if self.known(t) is None:
                self._returned(t)
        self.backwards.append((tuple(self.token(t) for t in roots), source.capture(3)))

    def backward_node(self, node: Node, g: Any, gs: Any) -> None:
        largest = max((_largest(x) for x in (g if isinstance(g, (tuple, list)) else (g,))), default=0.0)
        if self.bad_backward is None and np.isfinite(largest) and any(not np.isfinite(_largest(x)) for x in gs):
            self.bad_backward = Fault(
                "nan-backward", node.name(), node.source, f"the gradient that reached it was finite ({largest:.4g})"
            )
        held = self._zero.get(id(node))
        for k, (edge, gi) in enumerate(zip(node.inputs, gs, strict=False)):
            if edge is None or gi is None:
                continue
            target = edge.node if type(edge) is OutputSlot else edge
            small = _largest(gi)
            self._note_growth(node, target, largest, small)
            if small > TINY * largest and small != 0:
                self._zero.pop(id(target), None)
                continue
            fault = held[1] if held is not None and held[0] is node else None
            if fault is None and largest > 0:
                cause, detail = zero_cause(node, k, g, self.masks)
                fault = Fault(cause, node.name(), node.source, detail)
            if fault is None:
                continue
            self._zero[id(target)] = (target, fault)
            if isinstance(target, Tensor):
                self._about(target)["zero"] = fault

    def _note_growth(self, node: Node, target: Any, before: float, after: float) -> None:
        if not (0 < before < np.inf and after < np.inf):
            return
        held = self._growth.get(id(node))
        so_far = held[1] if held is not None and held[0] is node else Growth(before, before, 0, 0.0, "", None)
        factor = after / before
        grown = so_far._replace(last=after, factors=so_far.factors + (factor > 1))
        if factor > so_far.largest:
            grown = grown._replace(largest=factor, name=node.name(), site=node.source)
        known = self._growth.get(id(target))
        if known is None or known[0] is not target or known[1].last < after:
            self._growth[id(target)] = (target, grown)
            if isinstance(target, Tensor):
                self._about(target)["growth"] = grown

    def backward_end(self, roots: Any) -> None:
        self._zero.clear()
        self._growth.clear()

    def accumulate(self, leaf: Tensor, grad: Any) -> None:
        self._about(leaf)["accumulated"] = self.backwards[-1][1] if self.backwards else None

    def optimizer_zero_grad(self, optimizer: Any) -> None:
        site = source.capture(3)
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    self._about(p)["cleared"] = site

    def _about(self, t: Tensor) -> dict[str, Any]:
        if len(self._facts) > self.limit:
            del self._facts[next(iter(self._facts))]
        return self._facts.setdefault(self.token(t), {})

    def about(self, t: Tensor) -> dict[str, Any]:
        """What is noted of a leaf: `accumulated`, `cleared` (sites), `zero` (a Fault), `growth` (a Growth)."""
        number = self.known(t)
        return {} if number is None else self._facts.get(number, {})

    # ---- asking ------------------------------------------------------------------------------
    def way(self, start: int, goals: set[int]) -> list[Step] | None:
        """The steps from one noted value to one of the goals, shortest first; None when there are none."""
        came: dict[int, tuple[int, Step] | None] = {start: None}
        waiting = deque([start])
        while waiting:
            number = waiting.popleft()
            if number in goals:
                path: list[Step] = []
                link = came[number]
                while link is not None:
                    path.append(link[1])
                    link = came[link[0]]
                return path[::-1]
            for step in self.users.get(number, ()):
                if step.output is not None and step.output not in came:
                    came[step.output] = (number, step)
                    waiting.append(step.output)
        return None

    def exits(self, start: int) -> list[Step]:
        """Everything by which what came of a value left the graph, in order."""
        seen, stack, found = {start}, [start], []
        while stack:
            for step in self.users.get(stack.pop(), ()):
                if step.kind != "op" and step not in found:
                    found.append(step)
                if step.output is not None and step.output not in seen:
                    seen.add(step.output)
                    stack.append(step.output)
        return found

    def cut_before(self, end: int) -> Step | None:
        """The last place at which what a value is made of left the graph."""
        seen, waiting = {end}, deque([end])
        while waiting:
            for step in reversed(self.makers.get(waiting.popleft(), ())):
                if step.kind != "op":
                    return step
                for number in step.inputs:
                    if number not in seen:
                        seen.add(number)
                        waiting.append(number)
        return None


def _remove(table: dict[int, list[Step]], number: int, step: Step) -> None:
    steps = table.get(number)
    if steps:
        steps.remove(step)
        if not steps:
            del table[number]


def _digest(array: Any) -> bytes | None:
    """A fingerprint of values, whatever their shape and width."""
    if type(array) is not np.ndarray or not 0 < array.size <= _DIGESTED or array.dtype.kind == "c":
        return None
    kind = b"i" if array.dtype.kind in "biu" else b"f"  # 3 is not 3.0: one was never the other's number
    return kind + hashlib.blake2b(np.ascontiguousarray(array, np.float32).tobytes(), digest_size=16).digest()


def _telling(array: Any) -> bool:
    """True for values that two tensors hardly have in common by chance: several floating point numbers, not all the same."""
    if type(array) is not np.ndarray or array.dtype.kind != "f" or not 1 < array.size <= _DIGESTED:
        return False
    return bool(array.min() != array.max())


def _written_down(x: float) -> bool:
    """True when the number stands in the user's function as a literal: then it is no proof that it came from a tensor."""
    frame = source.user_frame()
    return frame is not None and (x in (0, 1) or any(type(c) is type(x) and c == x for c in frame.f_code.co_consts))


def _values(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def _finite(x: Any) -> bool:
    a = _values(x)
    return not (type(a) is np.ndarray and a.dtype.kind in "fcV") or bool(np.isfinite(a).all())


def _largest(x: Any) -> float:
    a = _values(x)
    if x is None or not hasattr(a, "tobytes") or not np.size(a):
        return 0.0
    return float(np.max(np.abs(np.asarray(a))))


def _range(x: Tensor) -> str:
    a = x._array
    if type(a) is not np.ndarray or not a.size:
        return f"{tuple(a.shape)}"
    return f"{tuple(a.shape)} from {float(a.min()):.4g} to {float(a.max()):.4g}" if a.dtype.kind in "fiub" else f"{tuple(a.shape)}"


_SATURATING = ("sigmoid", "tanh", "softmax", "hardtanh", "hardsigmoid", "clamp", "clip", "softsign", "logsigmoid", "log_sigmoid")
_MASKING = ("where", "masked", "dropout", "tril", "triu", "bernoulli")


def zero_cause(node: Node, k: int, g: Any, masks: Any = ()) -> tuple[str, str]:
    """Why the gradient of argument `k` is zero although one reached the node: the slug and what was seen; "unknown" if it is not clear."""
    name = node.op.name
    if "relu" in name:
        return "dead-relu", f"every input that a gradient reached is where {name} is flat"
    if any(word in name for word in _SATURATING):
        return "saturation", f"{name} is flat at these inputs"
    if any(word in name for word in _MASKING):
        return "masked", f"{name} lets none of these elements through"
    others = [(i, value) for (kind, i), value in zip(node.plan.entries, node.saved or (), strict=False) if kind == "in" and i != k]
    for i, value in others:
        a = np.asarray(value)
        if a.dtype.kind not in "biufc" or not a.size:
            continue
        argument = node.op.args[i] if i < len(node.op.args) else f"argument {i}"
        maker = node.inputs[i]
        if not a.any():
            if isinstance(maker, Node) and "relu" in maker.op.name:
                return "dead-relu", f"{argument} is zero: it comes from {maker.op.name}, which is off for all inputs ({maker.line})"
            if a.dtype.kind == "b" or id(value) in masks:
                return "masked", f"{argument} is a mask of False only"
            return "times-zero", f"{argument}, by which it is multiplied, is zero"
        if maker is None and bool(np.isin(a, (0, 1)).all()):
            return "masked", f"{argument} is a mask, zero wherever a gradient arrived"
        if not isinstance(g, (tuple, list)) and np.shape(_values(g)) == a.shape and not (a * np.asarray(_values(g))).any():
            return "times-zero", f"{argument} is zero wherever a gradient arrived"
    return "unknown", f"its derivative with respect to argument {k} is zero"


_current: list[Watch] = []


def watch(on: bool = True, *, limit: int = 100_000) -> Watch:
    """Start noting what happens to tensors, for `pellucid.explain`; a context manager, or a switch: `watch()`, `watch(False)`.

    Every operation becomes slower while it is on; nothing is paid while it is off. The last `limit` steps are kept.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> w = torch.tensor([2.0], requires_grad=True)
    >>> b = torch.tensor([1.0], requires_grad=True)
    >>> with debug.watch():
    ...     loss = ((w * 3).detach() + b).sum()
    ...     loss.backward()
    >>> torch.explain(w).cause
    'detached'
    """
    for old in _current:
        old.stop()
    if not on:
        return _current[-1] if _current else Watch(limit)
    notes = Watch(limit)
    _current[:] = [notes]
    return notes.start()


def current() -> Watch | None:
    """The notes of the last `watch()`, running or not."""
    return _current[-1] if _current else None
