"""Tracing: run one call eagerly, and record everything it computes as a program.

The values are real, so the first call returns what eager execution returns. Whatever cannot be
recorded (a value read into Python, an array of unknown origin) ends the recording, not the call.
It records the operations that `core.bind` runs, the gradient rules that backward runs, writes,
random draws and optimizer updates. Arrays are identified by their identity and their place in
memory.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np
from numpy import ndarray

from ... import dtypes
from ...api.messages.facts import call_in_progress
from ...arrays import native
from ...arrays.halves import native_products
from ...arrays.numpy_cpu import address, apart
from ...core import bind, interpret, observe, source
from ...core.interpret import Stack, thread
from ...core.primitive import PRIMITIVES, RAW, Primitive
from ...core.tensor import FAST_TYPES, Tensor
from ...ir import Buffer, Extra, Instruction, Program, Value, ValueRef
from .arrays import Watched, arrays_in, bounds, dtype_name, owner
from .backward import TracedBackwardPass
from .communication import Communication
from .control_flow import ControlFlow
from .events import Events
from .numbers import is_read, observed, unwatched
from .recording import NumberInput
from .refusal import Refusal, callees_of, frame_of, line_in, refusal_of
from .symbols import DATA_DEPENDENT, Namespace, Unsupported
from .watch import hidden, unseen

_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(...),
    slice,
    range,
    frozenset,
    np.dtype,
    dtypes.dtype,
    type,
)
# of operations, without code of the user's
_ARGUMENTS = frozenset((*FAST_TYPES, bool, int, float, complex, type(None), ndarray))
_NO_DATA = "the step uses a tensor without data, or one of a custom kind"


def _holds(value: Any, root: Any) -> bool:
    """Whether a variable's value is a tensor in some memory, or a small container of such."""
    held = (
        [value]
        if isinstance(value, Tensor)
        else list(value.values())
        if type(value) is dict
        else value
    )
    few = type(held) in (list, tuple) and len(held) <= 64
    return few and any(
        isinstance(t, Tensor) and type(t._array) is ndarray and owner(t._array) is root
        for t in held
    )


class Tracer(ControlFlow, Events, Communication):
    """Writes down what runs while it is active; `refusal` says why it gave up, when it did."""

    role = "tracer"
    BackwardPass = TracedBackwardPass
    whole_layers = True  # a recurrent layer is one operation

    def __init__(self, environment: Any, whole: bool = False) -> None:
        self.program = Program()
        # the name of an array that existed before and that the next call finds again
        self.resolve = environment.name_of
        # the array of a tensor into whose memory another array looks
        self.holder = environment.holder_of
        # whether a value that decides something, which splits the program, is refused
        self.whole = whole
        self.cleared: set[int] = set()  # tensors whose gradient an optimizer or a module cleared
        self.earlier: Any = None  # what tensors were before the call, to be told of it
        self._clearing = False
        # tensors for which it matters whether there was a gradient
        self.needs_grad: dict[int, bool] = {}
        self.refusal: Refusal | None = None
        self.phase = "forward"
        self.witness: Any = None  # of calls
        self.root: CodeType | None = None  # the code of the function itself
        self.began = 0  # nodes recorded before this number belong to the caller's graph
        # whether the call has changed what it can reach in Python
        self.changed: Callable[[], bool] = lambda: False
        # whether code that the call can reach compares types
        self.compares_types: Callable[[], bool] = lambda: False
        # whether those are not gone through: else a backward that comes to one is refused
        self.outside = False
        self.contents: dict[Buffer, ndarray] = {}  # of constants
        self.external: dict[Buffer, ndarray] = {}  # of inputs and state
        # shape and dtype of the arrays that temporaries were made as
        self.roots: dict[Buffer, Any] = {}
        self.claimed: set[int] = set()  # buffers that are some parameter's gradient
        # Optimizers' state that the call made, as it was left.
        self.begun: dict[int, tuple[Any, dict[Any, Any], dict[Any, Any]]] = {}
        # that item() gave out, and what was computed of them
        self.numbers: list[weakref.ref[Any]] = []
        self.thread = threading.get_ident()
        # of the user's source, with the code that has them
        self._lines: dict[tuple[int, int], tuple[Any, Any]] = {}
        # By identity, as long as the arrays live: what dies is forgotten in time, so that another
        # array is never taken for it.
        self._values: dict[int, Value] = {}
        self._roots: dict[int, list[tuple[int, int, Buffer]]] = {}
        self._foreign: list[tuple[int, int, int]] = []  # memory among those that no array owns
        self.given: dict[Buffer, int] = {}  # numbers among the arguments, and the place of each
        self.computed: list[NumberInput] = []  # what each call computes of those
        # what fails for some of them
        self.partial: list[tuple[Callable[[list[Any]], Any], list[int]]] = []
        self.count = 0  # of numbers that each call is given
        self.changes: Any = None  # what the call changes in Python
        self.inside: Any = None  # the call of a schedule's step that is running
        # For optimizers that have stepped: what their groups of options held each time.
        self.stepped: dict[int, list[list[tuple[int, dict[str, Any]]]]] = {}
        self._operands: dict[tuple[int, Any], tuple[Any, Tensor]] = {}
        self._fresh: set[int] = set()  # constants just made
        self.checks: set[Callable[..., Any]] = set()  # functions that do nothing but raise
        self._watched: dict[int, Watched] = {}
        self._of_constants: dict[Buffer, list[Value]] = {}
        # What was handed to gradient rules: by which instruction, and its form.
        self._objects: dict[int, tuple[Instruction, Any]] = {}
        self._alive: list[Any] = []  # those of them that only their identity tells apart
        self.numbers_handed_on = False
        self._paused = 0

    # ---- being active ----------------------------------------------------------------------------
    @contextmanager
    def active(self) -> Iterator[Tracer]:
        """Record inside the block."""
        observe.observers.append(self)
        interpret.push(self)
        try:
            with native.compiling_little():  # the program has code of its own
                yield self
        finally:
            interpret.pop(self)
            observe.observers.remove(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing inside the block."""
        self._paused += 1
        self.role = "paused tracer"
        thread.stack = Stack(thread.stack.all)  # which knows roles from when it was made
        try:
            yield
        finally:
            self._paused -= 1
            self.role = "tracer"
            thread.stack = Stack(thread.stack.all)

    def forget(self) -> None:
        """Let go of the call, when nobody will ask for its values by identity any more."""
        self._watched.clear()
        self._alive.clear()

    def _watch(self, array: ndarray) -> None:
        """Forget what is known of an array when it dies: another one may get its identity."""
        if id(array) not in self._watched:
            self._watched[id(array)] = Watched(array, self._died)

    def _died(self, watched: Watched) -> None:
        for table in (self._values, self._roots, self._watched):
            table.pop(watched.key, None)
        self._fresh.discard(watched.key)

    @property
    def recording(self) -> bool:
        """Whether what runs in this thread is written down."""
        return self.refusal is None and not self._paused and threading.get_ident() == self.thread

    def refuse(self, reason: str, site: Any = None) -> None:
        """Stop recording for a reason; the call goes on eagerly."""
        if self.refusal is None:
            self.refusal = self._refusal(reason, site or self.site())

    def _refusal(self, reason: str, site: Any) -> Refusal:
        made = Refusal(reason, site, [line_in(self.root)])
        made.callees = callees_of(self.root)
        return made

    def refused(self, refusal: Refusal) -> None:
        """Stop recording where something was refused."""
        if self.refusal is None:
            made = self.refusal = self._refusal(refusal.reason, refusal.site or self.site())
            if refusal.array is not None:
                frame, root = frame_of(self.root), owner(refusal.array)
                held = {} if frame is None else frame.f_locals
                made.variables = [name for name, v in held.items() if _holds(v, root)]

    def site(self) -> Any:
        """The user's current line."""
        return self._described(source.capture(2))

    def _described(self, site: source.Site | None) -> Any:
        """`source.describe`, which takes some time, once per place."""
        if site is None:
            return None
        key = id(site[0]), site[1]
        if key not in self._lines:
            self._lines[key] = (source.describe(site), site[0])
        return self._lines[key][0]

    # ---- arrays and values -----------------------------------------------------------------------
    def declare(self, array: ndarray, kind: str, name: str) -> Value:
        """Make an array known that exists outside: an input, or state."""
        low, high = bounds(array)
        buffer = self.program.buffer(kind, high - low, name)
        self.external[buffer] = array
        return self._enter(array, buffer, low, high)

    def declare_together(self, arrays: list[ndarray], names: list[str]) -> list[Value]:
        """The same for arguments that share memory, whose buffer is all that they look at, as
        bytes.
        """
        if len(arrays) == 1:
            return [self.declare(arrays[0], "input", names[0])]
        ends = [bounds(a) for a in arrays]
        low, high = min(start for start, _ in ends), max(end for _, end in ends)
        buffer = self.program.buffer("input", high - low, "_".join(names))
        self.program.value(buffer, "uint8", (high - low,), (1,))
        self.external[buffer] = arrays[0]
        return [self._enter(array, buffer, low, high) for array in arrays]

    def _enter(self, array: ndarray, buffer: Buffer, low: int, high: int) -> Value:
        root = owner(array)
        # memory that is no array's, which two arrays may look at that do not know of each other
        if root.base is not None:
            if any(
                start < high and low < end and place != id(root)
                for start, end, place in self._foreign
            ):
                raise Refusal("two tensors share memory that is not a tensor's")
            self._foreign.append((low, high, id(root)))
        self._roots.setdefault(id(root), []).append((low, high, buffer))
        value = self.program.value(
            buffer, dtype_name(array.dtype), array.shape, array.strides, address(array) - low
        )
        self._name(array, value)
        self._watch(root)
        return value

    def _name(self, array: ndarray, value: Value) -> None:
        self._values[id(array)] = value
        self._watch(array)
        if value.buffer.kind == "constant":
            self._of_constants.setdefault(value.buffer, []).append(value)

    def lookup(self, array: ndarray) -> Value | None:
        """The value of an array that is known, or that looks into known memory."""
        known = self._values.get(id(array))
        if known is not None:
            return known
        if type(array) is not ndarray:
            return None
        places = self._roots.get(id(owner(array)))
        if places is None:
            return None
        low, high = bounds(array)
        fitting = [p for p in places if p[0] <= low and high <= p[1] or not array.size]
        if not fitting:
            return None
        start, _, buffer = fitting[-1]
        offset = address(array) - start if array.size else 0
        value = self.program.value(
            buffer, dtype_name(array.dtype), array.shape, array.strides, offset
        )
        self._name(array, value)
        return value

    def constant(self, array: Any) -> Any:
        """Take note that a new array holds something that does not depend on any tensor's values;
        returns it.
        """
        if self.recording and type(array) is ndarray:
            self._fresh.add(id(array))
            self._watch(array)
        return array

    def _known(self, array: ndarray) -> Value:
        """The value of an array whose memory is known."""
        value = self.lookup(array)
        assert value is not None
        return value

    def value(self, array: ndarray, what: str = "") -> Value:
        """The value of an array that something reads; Refusal when nobody knows where it came from."""
        known = self.lookup(array)
        if known is not None:
            return known
        if type(array) is not ndarray:
            raise Refusal(_NO_DATA)
        root = owner(array)
        if id(array) in self._fresh or id(root) in self._fresh:
            return self._constant(root if id(root) in self._fresh else array, array)
        name = self.resolve(array)
        if name is not None:
            return self.declare(array, "state", name)
        holder = self.holder(array)
        if holder is not None:
            self.value(holder, what)
            return self._known(array)
        reason = f"{what or 'an operation'} uses a tensor that is neither an argument nor found from one, or made by the step"
        raise Refusal(reason, array=array)

    def _constant(self, root: ndarray, array: ndarray) -> Value:
        low, high = bounds(root)
        buffer = self.program.buffer("constant", high - low)
        self.contents[buffer] = root.copy()
        value = self._enter(root, buffer, low, high)
        return value if root is array else self._known(array)

    def define(self, array: ndarray) -> tuple[Value, bool]:
        """The value of a result, and whether it is new memory (not a view of something known)."""
        known = self.lookup(array)
        if known is not None:
            return known, False
        if type(array) is not ndarray:
            raise Refusal(_NO_DATA)
        root = owner(array)
        if id(root) in self._roots:
            raise Refusal("a view reaches beyond the tensor that it is a view of")
        low, high = bounds(root)
        if not (low <= address(array) <= high):  # memory of something that is not an array
            root, (low, high) = array, bounds(array)
        buffer = self.program.buffer("temp", high - low)
        self.roots[buffer] = (root.shape, root.dtype)
        if root is not array:
            self._enter(root, buffer, low, high)
            return self._known(array), True
        return self._enter(array, buffer, low, high), True

    def tree(self, value: Any, what: str, live: bool = False) -> Any:
        """Parameters, with references in the place of arrays; with `live`, dictionaries are handed
        over as they are.
        """
        kind = type(value)
        if kind is ndarray:
            return ValueRef(self.value(value, what))
        if is_read(value):
            return value.observe()
        if id(value) in self._objects:
            instruction, form = self._objects[id(value)]
            if form is None or form == self._form(value):
                return Extra(instruction)
        if isinstance(value, Tensor):
            return ValueRef(self.value(value._array, what))
        if isinstance(value, tuple):
            made = [self.tree(v, what, live) for v in value]
            return kind(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, list):
            return [self.tree(v, what, live) for v in value]
        if isinstance(value, dict):
            return value if live else {k: self.tree(v, what) for k, v in value.items()}
        if isinstance(value, _PLAIN) or callable(value) or live:
            return value
        raise Refusal(f"{what} uses a {kind.__name__} that the compiler does not know")

    def keep(self, value: Any, outputs: list[Value]) -> None:
        """Make known the arrays of what an operation hands to its gradient rule; numbers there
        depend on values.
        """
        if type(value) is ndarray:
            outputs.append(self.define(value)[0])
        elif isinstance(value, (tuple, list)):
            for v in value:
                self.keep(v, outputs)
        elif isinstance(value, dict):
            self.keep(list(value.values()), outputs)
        elif value is not None and not isinstance(value, str):
            self.numbers_handed_on = True

    # ---- what runs -------------------------------------------------------------------------------
    def run(self, below: Any, op: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an operation, unseen where nothing in it is the user's: not the operation, its
        arguments, or a hook on what it saves.
        """
        own = PRIMITIVES.get(op.name) is op and not thread.stack.save
        own = own and _ARGUMENTS.issuperset(map(type, args))
        return (hidden(below) if own else below)(op, args, params)

    def forward(self, op: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
        """What computes an operation: this library's run no code of the user's. Watched numbers
        among its parameters become plain ones.
        """
        for name, value in params.items():
            params[name] = observed(value)
        return hidden(op.numpy_forward) if PRIMITIVES.get(op.name) is op else op.numpy_forward

    @unseen
    def ran(
        self, op: Primitive, tensors: Any, params: dict[str, Any], made: Any, aux: Any = None
    ) -> None:
        """An operation ran on the general path of `core.bind`."""
        if self._clearing and self.earlier is not None:
            self._clearing = False
            self.earlier.let_go(self)
        if self.inside is not None:
            self.inside.touched = True
        if not self.recording:
            return
        try:
            if op.name in DATA_DEPENDENT:
                raise Refusal(f"the shape of {op.name}'s result depends on values")
            if op.name == "index" and any(
                isinstance(t, Tensor) and t._array.dtype == bool for t in tensors[1:]
            ):
                raise Refusal("the shape of what a mask selects depends on values")
            if op.name.startswith("as_strided") and any(
                v is not None and v.buffer.kind == "input"
                for v in (self.lookup(t._array) for t in tensors if isinstance(t, Tensor))
            ):
                raise Refusal(
                    "as_strided of an argument depends on where the argument lies in its storage"
                )
            results = made if isinstance(made, tuple) else (made,)
            if aux is None and all(self.lookup(t._array) is not None for t in results):
                # a view, or a function of the user's whose operations are written down already
                return
            kind = next((t._array.dtype for t in tensors if isinstance(t, Tensor)), None)
            inputs: list[Any] = []
            for t in tensors:
                if isinstance(t, Tensor):
                    inputs.append(self.value(t._array, op.name))
                else:
                    number = None if t is None else bind.number_array(op, t, kind)
                    array = type(number) is ndarray
                    inputs.append(self.value(self.constant(number), op.name) if array else number)
            self.emit(
                op, tuple(inputs), self.tree(params, op.name), [t._array for t in results], aux
            )
        except Exception as error:
            self.refused(refusal_of(error))

    def emit(
        self,
        op: Primitive,
        inputs: tuple[Any, ...],
        params: Any,
        arrays: list[Any],
        aux: Any = None,
    ) -> None:
        """Append an operation, unless all it did was to look at memory in another way."""
        start = len(self.program.buffers)
        outputs = [self.define(a)[0] for a in arrays]
        extra: list[Value] = []
        self.keep(aux, extra)
        new = [v.buffer.number >= start for v in outputs]
        if not any(new) and aux is None:
            return
        if not all(new):
            raise Refusal(f"{op.name} gives both views and new arrays")
        extra = [v for v in extra if v.buffer.number >= start or v.buffer.kind != "temp"]
        instruction = self.program.add(
            op.name,
            inputs,
            (*outputs, *[v for v in extra if v.buffer.number >= start]),
            params=params,
            record=op,
            phase=self.phase,
            site=self.site(),
            extras=tuple(extra),
            hands_on=aux is not None,
        )
        if aux is not None and type(aux) is not ndarray:
            form = self._form(aux)
            self._objects[id(aux)] = instruction, form
            if form is None:
                self._alive.append(aux)

    def _form(self, value: Any) -> Any:
        """An object of known arrays and texts as what can be compared: it need not live to be told
        from others. None for other objects.
        """
        if isinstance(value, (tuple, list)):
            parts = [v if v is None or isinstance(v, str) else self._form(v) for v in value]
            return (
                None
                if any(p is None and v is not None for p, v in zip(parts, value, strict=True))
                else (type(value), *parts)
            )
        return self._values.get(id(value)) if type(value) is ndarray else None

    @unseen
    def wrote(self, t: Tensor, result: Tensor | None) -> None:
        """A tensor was overwritten with a result."""
        if not self.recording:
            return
        try:
            if result is None:
                raise Refusal("a tensor was overwritten in a way that is not recorded")
            self.copy(t._array, result._array)
        except Exception as error:
            self.refused(refusal_of(error))

    def copy(self, target: ndarray, array: ndarray) -> None:
        """`target` was given the values of `array`."""
        if not apart(target):
            # what is left there depends on the order, which eager operations choose
            raise Refusal("the step writes to a tensor whose elements share memory")
        origin = self.value(array, "a write")
        if self._nobodys(target):
            made, _ = self.define(target)
            self.program.add(
                "copy", (origin,), (made,), kind="copy", phase=self.phase, site=self.site()
            )
            return
        place = self.value(target, "a write")
        if place.buffer.kind == "constant":
            place = self.own(place, target)
        self.program.add(
            "copy", (origin,), (), kind="copy", writes=(place,), phase=self.phase, site=self.site()
        )

    def _nobodys(self, array: ndarray) -> bool:
        """Whether an array that is written to is memory without contents that matter: none that is
        known, a constant of the step's, or that of a tensor from outside.
        """
        return (
            self.lookup(array) is None
            and id(array) not in self._fresh
            and id(owner(array)) not in self._fresh
            and self.resolve(array) is None
            and self.holder(array) is None
        )

    def copied(self, array: ndarray, made: ndarray) -> None:
        """An array was copied past the operations."""
        if self.recording:
            try:
                self.emit(PRIMITIVES["clone"], (self.value(array, "a copy"),), {}, [made])
            except Exception as error:
                self.refused(refusal_of(error))

    def own(self, place: Value, target: ndarray) -> Value:
        """A constant that is written to or returned becomes memory of the step, filled anew by each
        call.
        """
        constant = place.buffer
        buffer = self.program.buffer("temp", constant.size)
        for value in self._of_constants.pop(constant, ()):
            value.buffer = buffer
        for places in self._roots.values():
            places[:] = [(low, high, buffer if b is constant else b) for low, high, b in places]
        fresh = self.program.buffer("constant", constant.size)
        self.contents[fresh] = self.contents.pop(constant)
        array = self.contents[fresh]
        whole = {"dtype": dtype_name(array.dtype), "shape": array.shape, "strides": array.strides}
        self.program.add(
            "copy",
            (self.program.value(fresh, **whole),),
            (self.program.value(buffer, **whole),),
            kind="constant",
            site=self.site(),
        )
        instruction = self.program.instructions.pop()
        self.program.instructions.insert(0, instruction)
        self.program.buffers.remove(constant)
        return self._known(target)

    def effect(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        writes: tuple[int, ...] = (),
        fills: tuple[int, ...] = (),
    ) -> Any:
        """Call a function that computes on arrays by itself; the program repeats the call.

        The arguments at the positions `writes` are read and changed. Those at `fills` are
        overwritten as a whole, so memory without contents will do.
        """
        # Dictionaries (an optimizer's options) are read anew by each call, and are the same objects
        # then.
        args = tuple([a if isinstance(a, dict) else observed(a) for a in args])
        with unwatched([a for a in args if isinstance(a, dict)]):
            return self._effect(function, args, observed(kwargs), writes, fills)

    def _effect(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        writes: tuple[int, ...],
        fills: tuple[int, ...],
    ) -> Any:
        if threading.get_ident() != self.thread:
            return function(*args, **kwargs)
        if not self.recording:
            with self.paused():
                return function(*args, **kwargs)
        try:
            outputs: list[Value] = []
            written: list[Value] = []
            before = set(map(id, self.program.buffers))
            for k, arg in enumerate(args):
                for a in arrays_in(arg):
                    if k in fills and self._nobodys(a):
                        outputs.append(self.define(a)[0])
                    elif k in writes or k in fills:
                        place = self.value(a, function.__name__)
                        written.append(
                            self.own(place, a) if place.buffer.kind == "constant" else place
                        )
            params = {
                "args": self.tree(args, function.__name__, True),
                "kwargs": self.tree(kwargs, function.__name__, True),
            }
        except Exception as error:
            self.refused(refusal_of(error))
            outputs, written, params, before = [], [], {}, set()
        with self.paused():
            result = function(*args, **kwargs)
        if self.recording:
            returned: list[Any] = []
            for a in arrays_in(result):
                value, new = self.define(a)
                returned.append(value)
                if new or id(value.buffer) not in before and value not in outputs:
                    outputs.append(value)
            self.program.add(
                function.__name__,
                (),
                tuple(outputs),
                kind="call",
                writes=tuple(written),
                params=params,
                record=(function, returned),
                phase="random"
                if ".streams." in function.__module__
                else "update"
                if written
                else self.phase,
                site=self.site(),
            )
        return result

    def check(self, function: Callable[..., Any], args: tuple[Any, ...], again: bool) -> None:
        """Call a function that raises for wrong values, and repeat the call unless the following
        operation makes the same check.
        """
        if threading.get_ident() != self.thread:
            function(*args)
        elif again:
            with self.paused():
                function(*args)
        else:
            self.checks.add(function)
            self.effect(function, args, {})
            if self.recording:
                self.program.instructions[-1].noted = hidden(call_in_progress)()

    # ---- backward --------------------------------------------------------------------------------
    def rule(self, node: Any, g: Any, s: Any) -> Any:
        """The gradients of a node: in operations where the rule can be written in them, else the
        rule as one instruction.
        """
        if not self.recording or PRIMITIVES.get(node.op.name) is not node.op:
            # A function of the user's: its backward is made of operations, which are written down
            # themselves.
            return node.plan.backward(RAW, g, s, node.params)
        return self._rule(node, g, s)

    @unseen
    def _rule(self, node: Any, g: Any, s: Any) -> Any:
        mark = len(self.program.instructions)
        self.phase, before = "backward", self.phase
        line = self._described(node.source) if hasattr(node, "source") else None
        try:
            try:
                if any(
                    kind == "aux" and _has_numbers(v)
                    for (kind, _), v in zip(node.plan.entries, s or (), strict=False)
                ):
                    raise Unsupported("numbers that depend on values")
                space = Namespace(self)
                symbol, saved = space.wrap(g), space.wrap(s)
                widened = node.op.widens and type(g) is ndarray and g.dtype.itemsize == 2
                widened = widened and not (
                    "multiplies" in node.op.traits and native_products(g.dtype)
                )
                if widened:  # as on arrays
                    symbol, saved = (
                        space.widened(symbol),
                        saved and [space.widened(v) for v in saved],
                    )
                made = node.plan.backward(space, symbol, saved, space.wrap(node.params))
                # rounded before they are summed over what was broadcast
                if widened and node.op.elementwise:
                    made = tuple(
                        [
                            x if x is None or x is symbol else space.cast(x, dtype=g.dtype)
                            for x in made
                        ]
                    )
                made = space.unwrap(made)
                if widened:  # g itself needs no rounding
                    made = tuple([g if x is symbol.array else x for x in made])
                if all(x is None or type(x) is ndarray for x in made):
                    for k in range(mark, len(self.program.instructions)):
                        self.program.instructions[k].site = line
                    return made
            except Exception:
                # whatever a rule does that symbols do not speak: it runs on arrays instead
                made = None
            del self.program.instructions[mark:]
            return self._whole_rule(node, g, s, line)
        finally:
            self.phase = before

    def _whole_rule(self, node: Any, g: Any, s: Any, line: Any) -> Any:
        with self.paused():
            made = node.plan.backward(RAW, g, s, node.params)
        made = tuple(x if x is None or type(x) is ndarray else np.asarray(x) for x in made)
        if self.refusal is not None:
            return made
        try:
            what = f"the gradient of {node.op.name}"
            params = {
                "g": self.tree(g, what),
                "s": self.tree(list(s or ()), what),
                "params": self.tree(node.params, what),
            }
            start = len(self.program.buffers)
            places = [None if x is None else self.define(x)[0] for x in made]
            outputs = [v for v in places if v is not None and v.buffer.number >= start]
            if outputs:
                self.program.add(
                    f"{node.op.name}_vjp",
                    (),
                    tuple(outputs),
                    kind="rule",
                    params=params,
                    record=(node.plan, places, node.op),
                    phase="backward",
                    site=line,
                )
        except Exception as error:
            refusal = refusal_of(error)
            self.refuse(refusal.reason, refusal.site or line)
        return made


def _has_numbers(value: Any) -> bool:
    """True when something besides arrays and strings is in there: it may depend on values."""
    if isinstance(value, (tuple, list)):
        return any(_has_numbers(v) for v in value)
    if isinstance(value, dict):
        return any(_has_numbers(v) for v in value.values())
    return not (value is None or isinstance(value, (ndarray, str)))
