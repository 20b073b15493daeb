"""`watch` records what a program does with its tensors, so that `explain` can look back.

It records, for values computed from tensors that require a gradient: operations with inputs,
results and lines; where a value left the graph (`detach`, `no_grad`, integers, Python numbers,
NumPy); backward calls, and where a gradient became zero in them; where the first NaN or Inf
appeared. Tensors are held weakly and the records are bounded: the oldest are dropped.
"""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import deque
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from .._living import living
from ..core import function, observe, reverse, source
from ..core.tape import Node, count, walk
from ..core.tensor import Tensor
from .questions.backward import BackwardNotes, Fault, function_of, largest_of
from .questions.finite import GROWN, FiniteNotes, is_finite
from .questions.places import leads_to
from .questions.steps import BackwardCall, NotedStep, Steps

# values of at most so many elements are recognized when they come back as another tensor
_DIGESTED = 1 << 16


_FAR = 32


class Term(NamedTuple):
    """Something without a gradient that was added to something with one: the number of the first, if
    it is noted, that of the sum, and where.
    """

    number: int | None
    total: int
    site: source.Site | None


class Made(NamedTuple):
    """How a tensor of data was made: where, its dtype, what of, and the tensor while it lives."""

    site: source.Site | None
    dtype: Any
    before: Made | None
    tensor: weakref.ref[Tensor]
    depth: int

    @classmethod
    def of(cls, t: Tensor, site: source.Site | None, before: Made | None) -> Made:
        """What is noted of `t`; of a long history the beginning stays."""
        if before is not None and before.depth >= _FAR:
            while before.before is not None:
                before = before.before
        depth = 0 if before is None else before.depth + 1
        return cls(site, t.dtype, before, weakref.ref(t), depth)


class Watch(Steps):
    """The recording that `debug.watch()` starts. It is a context manager; `stop()` ends it as well.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> with debug.watch() as recording:
    ...     w = torch.ones(2, requires_grad=True)
    ...     y = w.detach() * 2
    >>> torch.explain(y).cause
    'detached'
    """

    def __init__(self, limit: int = 100_000) -> None:
        super().__init__(limit)
        self.finished = 0  # backward calls that ran to their end
        self.last_done: BackwardCall | None = None
        self.started = source.capture(3)
        self.ended: source.Site | None = None
        self.last_node = 0  # the number of the newest node when watching stopped
        self._tokens: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._next = 0
        # tokens of what comes from tensors that require a gradient, oldest first
        self._tainted: dict[int, None] = {}
        self._facts: dict[int, dict[str, Any]] = {}  # by token of leaves: what `about` returns
        # arrays of tainted tensors by id: (weak reference, token)
        self._arrays: dict[int, tuple[Any, int]] = {}
        # arrays that `autograd.grad` returned without a graph, by id and by content
        self._given: dict[Any, tuple[Any, int]] = {}
        self._digests: dict[bytes | None, NotedStep] = {}  # values that left the graph, by content
        # how values were made that come from no gradient, of those that live
        self._made: dict[int, Made] = {}
        self._contents: dict[bytes | None, int] = {}  # computed values, by content
        # leaves, by token of what `.data` gave of them
        self._data: dict[int, weakref.ref[Tensor]] = {}
        # bool masks as numbers, by id of array
        self.masks: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # where they were compared
        self.mask_sites: dict[int, source.Site | None] = {}
        # steps of optimizers by id, and those with a rate of zero
        self.steps_of: dict[int, tuple[int, int]] = {}
        self._optimizers: list[Any] = []
        # lines that have set a requires_grad to True
        self.switched_on: set[tuple[str, int]] = set()
        # where functions of the program returned from last, as far as a tracer notes it, and the same
        # when a step with a rate of zero was made
        self.returns: dict[CodeType, source.Site] = {}
        self.returns_idle: dict[CodeType, source.Site] = {}
        self._own_functions = False  # whether a node's derivative is a function of the program
        # differences and quotients of equal values: the numbers of both, and where
        self.alike: deque[tuple[int, int, source.Site | None]] = deque(maxlen=256)
        self.terms: deque[Term] = deque(maxlen=256)
        self.finite = FiniteNotes(4096)
        self.gradients = BackwardNotes(self._about, self.masks, self.mask_sites, self.returns)
        self.active = False

    # ---- switching ---------------------------------------------------------------------------
    def start(self) -> Watch:
        """Begin to take notes."""
        if not self.active:
            observe.add_observer(self)
            self.active = True
            self.ended, self.last_node = None, 0
        return self

    def stop(self) -> None:
        """Take no more notes; what is noted stays."""
        if self.active:
            observe.remove_observer(self)
            self.active = False
            self._trace_returns(False)
            self.ended, self.last_node = source.capture(3), count()
            # What exists now and was not used is known, too; what is made later is not.
            for t in living(Tensor):
                if hasattr(t, "_rg") and t._rg and t._node is None:
                    self.token(t)

    def _trace_returns(self, on: bool) -> None:
        """Note where functions of the program return, unless somebody else traces this thread."""
        if on and self._own_functions and sys.gettrace() is None:
            sys.settrace(self._called)
        elif not on and sys.gettrace() == self._called:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        """What Python tells of a call."""
        file = frame.f_code.co_filename
        if file == "<string>" or source.is_library(file):
            return None
        frame.f_trace_lines = False
        return self._returns_from

    def _returns_from(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self.returns[frame.f_code] = frame.f_code, frame.f_lasti
        return self._returns_from

    def covers(self, t: Tensor) -> bool:
        """True when the notes can tell what happened to a tensor: not when it was made, or used,
        after watching had stopped.
        """
        return self.active or self.known(t) is not None

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
        key, tokens, made = id(t), self._tokens, self._made
        self._next += 1
        number = self._next

        def forget(ref: Any) -> None:
            held = tokens.get(key)
            if held is not None and held[0] is ref:
                del tokens[key]
                made.pop(number, None)

        tokens[key] = (weakref.ref(t, forget), number)
        return number

    def comes_from_gradients(self, t: Tensor) -> bool:
        """True when the tensor requires a gradient, or was made, however indirectly, of one that
        does.
        """
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

    # ---- what the engine tells ---------------------------------------------------------------
    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        self._modules.append(name or type(module).__name__)

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        if self._modules:
            self._modules.pop()

    def operation(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        made = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        if "overwrites" in op.traits:
            for t in made:
                self.token(t)
            return
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
        sources += self._indices(params)
        if not all(is_finite(t) for t in made):
            self._not_finite(op, inputs, params, made)
        if op.name == "cast" and inputs[0]._array.dtype.kind == "b":
            self.masks[id(made[0]._array)] = made[0]._array
            mask = self.history(inputs[0])
            if len(self.mask_sites) >= 4096:
                del self.mask_sites[next(iter(self.mask_sites))]
            self.mask_sites[id(made[0]._array)] = source.capture(3) if mask is None else mask.site
        if not sources:
            data = next(
                (h for x in inputs if isinstance(x, Tensor) and (h := self.history(x))), None
            )
            for t in made:
                if isinstance(t, Tensor) and not any(t is x for x in inputs):
                    self._made[self.token(t)] = Made.of(t, source.capture(3), data)
            return
        needs = any(isinstance(x, Tensor) and x._rg for x in inputs)
        if op.name in ("sub", "div") and len(sources) == 2 and _alike(*inputs[:2]):
            self.alike.append((sources[0], sources[1], source.capture(3)))
        if op.name in ("add", "sub") and needs and made[0].numel() == 1:
            self._add_term(inputs, self.token(made[0]))
        for t in made:
            if not isinstance(t, Tensor):
                continue
            kind = "op"
            if op.name == "detach":
                kind = "detached" if needs else "op"
            elif needs and not t._rg:
                integral = (
                    t._array.dtype.kind in "biu"
                    or op.name in DRAWING
                    or getattr(op, "vjp", None) is None
                )
                # What a custom function computes in its forward has no graph, and its backward
                # speaks for it.
                kind = (
                    "through-integer" if integral else "op" if _in_function() else "no-grad-block"
                )
            node = t.grad_fn
            if node is not None and self._modules:
                node.extra().setdefault("module", self._modules[-1])
            itself = op.name == "detach" and t is inputs[0]
            if itself:  # detach_(): from here on it is another value
                self._tokens.pop(id(t), None)
            number = self._taint(t)
            self._note(kind, op.name + "_" * itself, tuple(sources), number)
            if _telling(t._array):
                self._contents[_digest(t._array)] = number
                if len(self._contents) > 4096:
                    del self._contents[next(iter(self._contents))]

    def _add_term(self, inputs: Any, total: int) -> None:
        """Note what has no gradient and is added to a number that has one, such as a loss."""
        for x in inputs:
            number = self.known(x) if isinstance(x, Tensor) else None
            if isinstance(x, Tensor):
                frozen = not x._rg and x._array.dtype.kind == "f"
            else:
                frozen = isinstance(x, (float, np.floating)) and not _written_down(float(x))
            if frozen:
                self.terms.append(Term(number, total, source.capture(4)))

    def _indices(self, params: dict[str, Any]) -> list[int]:
        """The numbers of noted values that an operation was given as parameters: indices of a
        lookup, sizes.
        """
        found: list[int] = []
        for value in params.values():
            for v in value if isinstance(value, (tuple, list)) else (value,):
                held = self._arrays.get(id(v)) if type(v) is np.ndarray else None
                if held is not None and held[0]() is v:
                    found.append(held[1])
        return found

    def _not_finite(self, op: Any, inputs: Any, params: Any, made: Any) -> None:
        bad = {
            k: self.token(x)
            for k, x in enumerate(inputs)
            if isinstance(x, Tensor) and not is_finite(x)
        }
        leaves = [x for x in inputs if isinstance(x, Tensor) and x._rg and x._node is None]
        diverged = next((d for x in leaves if (d := self.about(x).get("diverged"))), None)
        for t in made:
            if isinstance(t, Tensor) and not is_finite(t):
                self.finite.note(
                    op,
                    inputs,
                    params,
                    self.token(t),
                    t,
                    bad,
                    self._modules[-1] if self._modules else None,
                    diverged,
                )

    def inplace(self, name: str, tensor: Tensor, result: Any) -> None:
        if not isinstance(result, Tensor) or result is tensor:
            return
        of = self._data.get(self.known(tensor) or 0)
        leaf = tensor if of is None else of()
        if leaf is not None and leaf._rg and leaf._node is None:
            facts = self._about(leaf)
            facts.setdefault("begun", source.capture(3))
            if "accumulated" not in facts:
                facts["filled"] = source.capture(3)
        if self.comes_from_gradients(result):
            self._note("op", name, (self._taint(result),), self._taint(tensor))
        if not is_finite(result):
            self.finite.overwritten(self.token(tensor), self.token(result))
            self.finite.written(tensor._array, source.capture(3), name)

    def data_taken(self, tensor: Tensor, result: Tensor) -> None:
        if tensor._rg:
            if tensor._node is None and len(self._data) < 4096:
                self._data[self.token(result)] = weakref.ref(tensor)
            self._note("detached", "data", (self._taint(tensor),), self._taint(result))

    def made(self, tensor: Tensor, sources: list[Tensor]) -> None:
        """A tensor of Python data: of other tensors, which it copies without their history, or of
        values that left the graph before.
        """
        tainted = tuple(
            dict.fromkeys(self._taint(t) for t in sources if self.comes_from_gradients(t))
        )
        if not is_finite(tensor):
            self.finite.written(tensor._array, source.capture(3), "torch.tensor")
        if tainted:
            self._note("through-number", "torch.tensor", tainted, self._taint(tensor))
        elif self._returned(tensor) is None and not tensor._rg:
            self._made[self.token(tensor)] = Made.of(tensor, source.capture(3), None)

    def created(self, tensor: Tensor, sources: Any) -> None:
        """A tensor of a factory, or a batch of samples."""
        data = next((h for t in sources if (h := self.history(t))), None)
        self._made[self.token(tensor)] = Made.of(tensor, source.capture(3), data)

    def read(self, tensor: Tensor, how: str) -> None:
        if not self.comes_from_gradients(tensor):
            return
        if how in ("bool", "index"):
            self._note("decided", how, (self._taint(tensor),), None)
            return
        kind = "through-numpy" if how in ("numpy", "dlpack") else "through-number"
        name = {"dlpack": "__dlpack__"}.get(how, how)
        step = self._note(kind, name, (self._taint(tensor),), None)
        digest = _digest(tensor._array)
        if digest is not None:
            self._digests.setdefault(digest, step)
            if len(self._digests) > 4096:
                del self._digests[next(iter(self._digests))]

    def _came_back(self, step: NotedStep) -> int:
        """A value that had left the graph is used: join it to where it left; the number of the
        joint.
        """
        self._next += 1
        self._tainted[self._next] = None
        self._note(step.kind, step.name, step.inputs, self._next, step.site)
        return self._next

    def _returned(self, t: Tensor) -> int | None:
        """The number of a tensor seen for the first time that shares memory with, or repeats, a
        value that left the graph.
        """
        array = t._array
        if type(array) is not np.ndarray:
            return None
        given = self._given.get(id(array))
        if self._given and (given is None or given[0]() is not array):
            given = self._given.get(_digest(array)) if _telling(array) else None
        if given is not None:
            number = self._taint(t)
            self._note("op", "view", (given[1],), number)
            return number
        while array is not None:
            held = self._arrays.get(id(array))
            if held is not None and held[0]() is array:
                # The memory of a tensor that requires a gradient, without its history: through
                # NumPy if it was read so, else `.data`.
                read = next(
                    (s for s in self.users.get(held[1], ()) if s.kind == "through-numpy"), None
                )
                kind, name, site = (
                    (read.kind, read.name, read.site)
                    if read
                    else ("detached", "data", source.capture(3))
                )
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
            step = NotedStep(
                "through-number", "torch.tensor", (origin,), None, source.capture(3), None, 0
            )
        number = self._taint(t)
        self._note(step.kind, step.name, step.inputs, number, step.site)
        return number

    def _repeated(self, array: np.ndarray) -> int | None:
        """The number of a computed value that a new tensor repeats element by element, as
        `torch.tensor(value)` does.
        """
        digest = _digest(array) if _telling(array) else None
        return None if digest is None else self._contents.get(digest)

    def backward_start(self, roots: Any) -> None:
        for t in roots:
            if self.known(t) is None:
                self._returned(t)
        site = source.capture(3)
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code not in (_BACKWARD, _GRAD):
            frame = frame.f_back
        accumulates = frame.f_code is not _GRAD
        noted = self.dropped + len(self.steps)
        numbers = tuple(self.token(t) for t in roots)
        self.backwards.append(BackwardCall(numbers, site, noted, accumulates, count()))
        if not self._own_functions:
            nodes = walk([t._node for t in roots if t._node is not None])
            self._own_functions = any(isinstance(n, Node) and function_of(n) for n in nodes)
        self._trace_returns(True)
        bad = next((t for t in roots if not is_finite(t)), None)
        fault = None if bad is None else self.blame(bad)
        self.gradients.start(site, fault, accumulates)

    def blame(self, t: Tensor) -> Fault | None:
        """Where a value that is not finite began, as far as it was watched: forward, or in the
        gradient that a parameter was updated by.
        """
        number = self.known(t)
        if number is None:
            return None
        fault, came = self.finite.blame(number)
        if came is not None:
            facts = self._facts.get(came, {})
            return facts.get("bad") or facts.get("overflow") or fault
        return (
            fault
            or self._facts.get(number, {}).get("bad")
            or self._facts.get(number, {}).get("overflow")
        )

    def backward_node(self, node: Node, g: Any, gs: Any) -> None:
        self.gradients.node(node, g, gs)

    def backward_end(self, roots: Any) -> None:
        self._trace_returns(False)
        frame = sys._getframe(1)
        while frame is not None and "run" not in frame.f_locals:
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None:
            self._gradients_given(frame.f_locals["run"])
        self.gradients.end()
        self.finished += 1
        self.last_done = self.backwards[-1] if self.backwards else None

    def _gradients_given(self, run: Any) -> None:
        """What `autograd.grad` returns without create_graph is a constant: it was computed from the
        roots, and no gradient flows through it.
        """
        if run.wanted is None or run.create_graph or not self.backwards:
            return
        call = self.backwards[-1]
        for g in run.found.values():
            array = g._array if isinstance(g, Tensor) else g
            if type(array) is np.ndarray:
                self._next += 1
                self._tainted[self._next] = None
                self._note("no-create-graph", "autograd.grad", call.roots, self._next, call.site)
                self._given[id(array)] = weakref.ref(array), self._next
                if _telling(array):  # the program gets a copy of what is a view
                    self._given[_digest(array)] = None, self._next
        while len(self._given) > 4096:
            del self._given[next(iter(self._given))]

    def accumulate(self, leaf: Tensor, grad: Any) -> None:
        self.gradients.accumulate(leaf, grad)

    def grad_set(self, tensor: Tensor, value: Any) -> None:
        if value is None and self.known(tensor) is not None:
            self._about(tensor)["cleared"] = source.capture(3)

    def requires_grad(self, tensor: Tensor, value: bool) -> None:
        if value and len(self.switched_on) < 4096:
            line = source.describe(source.capture(3))
            if line is not None:
                self.switched_on.add((line.file, line.line))
        if not value or self.known(tensor) is not None:
            self._about(tensor)["requires_grad"] = (value, source.capture(3))
        else:
            self._about(tensor)["born"] = source.capture(3)

    def switched_off(self) -> source.Line | None:
        """The last line that switched the gradient of a leaf off, if no living leaf has one."""
        living = [(t, n) for ref, n in self._tokens.values() if (t := ref()) is not None]
        if any(t._rg for t, _ in living):
            return None
        switched = (self._facts.get(n, {}).get("requires_grad") for _, n in living)
        sites = [site for on, site in filter(None, switched) if not on]
        return source.describe(sites[-1]) if sites else None

    def zero_grad(self, tensors: list[Tensor], set_to_none: bool) -> None:
        site = source.capture(3)
        for p in tensors:
            if p._grad is not None:
                self._about(p)["cleared"] = site

    def optimizer_step(self, optimizer: Any) -> None:
        step = f"{type(optimizer).__name__}.step"
        steps, idle = self.steps_of.get(id(optimizer), (0, 0))
        rates = [group.get("lr") for group in optimizer.param_groups]
        self.steps_of[id(optimizer)] = steps + 1, idle + (not any(rates))
        if not any(rates):
            self.returns_idle.update(self.returns)
        if not steps:
            self._optimizers.append(optimizer)  # an id is one object's while that lives
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p._grad is None or self._about(p).keys() & {"bad", "overflow", "diverged"}:
                    continue
                size, rate = largest_of(p), group.get("lr")
                if not is_finite(p):
                    detail = f"the update caused it; its gradient was finite (at most {largest_of(p._grad):.4g}), lr = {rate}"
                    self._about(p)["overflow"] = Fault(
                        "nan-forward", step, source.capture(3), detail
                    )
                elif size > GROWN:
                    detail = f"the values had grown to {size:.3g} with the update here, lr = {rate}"
                    self._about(p)["diverged"] = Fault(
                        "nan-forward", step, source.capture(3), detail
                    )

    def _about(self, t: Tensor) -> dict[str, Any]:
        if len(self._facts) > self.limit:
            del self._facts[next(iter(self._facts))]
        return self._facts.setdefault(self.token(t), {})

    def about(self, t: Tensor) -> dict[str, Any]:
        """What is noted of a leaf: `accumulated`, `cleared` (sites), `zero`, `bad`, `none`,
        `overflow` (Faults), `growth` (a Growth), `requires_grad` (the last value set, and where),
        `born` (where it became a leaf with gradients), `begun` and `filled` (the sites that gave it its first values, and those it had at its
        first gradient).
        """
        number = self.known(t)
        return {} if number is None else self._facts.get(number, {})

    def root_at(self, call: BackwardCall) -> source.Site | None:
        """Where the value was computed that backward was called on."""
        made = [
            step
            for number in call.roots
            for step in self.makers.get(number, ())
            if step.site is not None
        ]
        return max(made, key=lambda step: step.order).site if made else call.site

    def made_at(self, t: Tensor) -> source.Site | None:
        """Where a tensor was made that comes from nothing that requires a gradient."""
        made = self.history(t)
        return None if made is None else made.site

    def history(self, t: Tensor) -> Made | None:
        """How a tensor was made that comes from nothing that requires a gradient."""
        number = self.known(t)
        return None if number is None else self._made.get(number)

    def re_made(self, t: Tensor) -> NotedStep | None:
        """The place where a value left the graph of which a tensor that no operation made is a
        copy.
        """
        number = self._returned(t) if self.known(t) is None else self.known(t)
        return None if number is None else self.cut_before(number)

    def difference_of_equals(self, t: Tensor) -> source.Site | None:
        """Where two values were subtracted, or divided, that both come from a leaf and are equal."""
        number = self.known(t)
        if number is None:
            return None
        for a, b, site in reversed(self.alike):
            if all(self.way(number, {x}) is not None for x in (a, b)):
                return site
        return None

    def optimized(self, t: Tensor) -> bool:
        """Whether an optimizer that has stepped has a tensor among its parameters."""
        groups = (group for o in self._optimizers for group in o.param_groups)
        return any(t is p for group in groups for p in group["params"])

    def living(self, numbers: list[int]) -> list[Tensor]:
        """The tensors with some numbers that are alive."""
        wanted = set(numbers)
        held = [(ref(), n) for ref, n in self._tokens.values()]
        return [t for t, n in held if t is not None and n in wanted]

    def left_as(self, value: Any) -> NotedStep | None:
        """Where a Python number or a NumPy array left the graph, when it is still what it was then."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
        return self._digests.get(_digest(array)) if array.dtype.kind in "biuf" else None

    def left_for(self, name: str) -> NotedStep | None:
        """The last place where a number left the graph that a variable was computed from, by the
        statements of the program that assign it.
        """
        left = [s for s in self._digests.values() if s.kind in ("through-number", "through-numpy")]
        found = [s for s in left if s.line is not None and leads_to(s.line, name)]
        return max(found, key=lambda s: s.order, default=None)


def _digest(array: Any) -> bytes | None:
    """A fingerprint of values, whatever their shape and width."""
    if type(array) is not np.ndarray or not 0 < array.size <= _DIGESTED or array.dtype.kind == "c":
        return None
    # 3 is not 3.0: one was never the other's number
    kind = b"i" if array.dtype.kind in "biu" else b"f"
    return (
        kind
        + hashlib.blake2b(
            np.ascontiguousarray(array, np.float32).tobytes(), digest_size=16
        ).digest()
    )


def _telling(array: Any) -> bool:
    """True for values that two tensors hardly have in common by chance: several floating point
    numbers, not all the same.
    """
    if type(array) is not np.ndarray or array.dtype.kind != "f" or not 1 < array.size <= _DIGESTED:
        return False
    return bool(array.min() != array.max())


def _alike(a: Any, b: Any) -> bool:
    """Whether two values that need gradients agree exactly."""
    both = isinstance(a, Tensor) and isinstance(b, Tensor) and a is not b and a._rg and b._rg
    return both and a.shape == b.shape and bool(np.array_equal(a._array, b._array))


def _written_down(x: float) -> bool:
    """True when the number stands in the user's function as a literal: then it is no proof that it
    came from a tensor.
    """
    frame = source.user_frame()
    return frame is not None and (
        x in (0, 1) or any(type(c) is type(x) and c == x for c in frame.f_code.co_consts)
    )


DRAWING = ("multinomial", "sample", "bernoulli", "normal", "poisson", "binomial")
_BACKWARD, _GRAD = reverse.backward.__code__, reverse.grad.__code__
_current: list[Watch] = []


def watch(on: bool = True, *, limit: int = 100_000, notes: Watch | None = None) -> Watch:
    """Start recording what happens to tensors, for `pellucid.explain`; a context manager, or a
    switch: `watch()`, `watch(False)`.

    Operations are slower while it is on; there is no overhead while it is off. The last `limit`
    steps are kept. `notes` is the recording to start, instead of a new one.

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
    notes = Watch(limit) if notes is None else notes
    _current[:] = [notes]
    return notes.start()


def current() -> Watch | None:
    """The notes of the last `watch()`, running or not."""
    return _current[-1] if _current else None


def _in_function() -> bool:
    """Whether the `forward` of an `autograd.Function` runs."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == function.__file__:
            return True
        frame = frame.f_back
    return False
