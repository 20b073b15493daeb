"""Tracing: run a call eagerly, and record everything it computes as a program.

The values are real, so the first call returns what eager execution returns. Anything that cannot be
recorded (a value read into Python, an array of unknown origin) ends the recording, but not the
call.

It records the operations that `core.bind` runs, the gradient rules that backward runs, writes,
random draws and optimizer updates. Arrays are identified by their id and their position in memory.
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
# argument types of operations that involve no user code
_ARGUMENTS = frozenset((*FAST_TYPES, bool, int, float, complex, type(None), ndarray))
_NO_DATA = "the step uses a tensor without data, or one of a custom kind"


def _holds(value: Any, root: Any) -> bool:
    """Whether a variable's value is a tensor in the memory `root`, or a small container of such
    tensors.
    """
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
    """Records what runs while it is active. `refusal` is the reason if it gave up."""

    role = "tracer"
    BackwardPass = TracedBackwardPass
    whole_layers = True  # a recurrent layer is one operation

    def __init__(self, environment: Any, whole: bool = False) -> None:
        self.program = Program()
        # function: the name of an array that existed before the call and that the next call can
        # find
        self.resolve = environment.name_of
        # function: the array of a known tensor whose memory contains another array
        self.holder = environment.holder_of
        # whether decisions on values, which split the program, are refused
        self.whole = whole
        self.cleared: set[int] = set()  # ids of tensors whose gradient was cleared
        self.earlier: Any = None  # the state of tensors before the call (`Earlier`)
        self._clearing = False
        # id of a tensor -> whether it must have a gradient
        self.needs_grad: dict[int, bool] = {}
        self.refusal: Refusal | None = None
        self.phase = "forward"
        self.witness: Any = None  # the Witness of the call
        self.root: CodeType | None = None  # the code of the traced function
        self.began = 0  # nodes with a smaller number belong to the caller's graph
        # whether the call has changed anything that it can reach in Python
        self.changed: Callable[[], bool] = lambda: False
        # whether code that the call can reach compares types
        self.compares_types: Callable[[], bool] = lambda: False
        # whether backward skips those nodes; otherwise reaching one is refused
        self.outside = False
        self.contents: dict[Buffer, ndarray] = {}  # arrays of constants
        self.external: dict[Buffer, ndarray] = {}  # arrays of inputs and state
        # shape and dtype with which temporaries were allocated
        self.roots: dict[Buffer, Any] = {}
        self.claimed: set[int] = set()  # ids of buffers that are a parameter's gradient
        # optimizer state that the call created, with its final contents
        self.begun: dict[int, tuple[Any, dict[Any, Any], dict[Any, Any]]] = {}
        # watched numbers from item(), and those computed from them
        self.numbers: list[weakref.ref[Any]] = []
        self.thread = threading.get_ident()
        # cache of described source lines, with their code objects
        self._lines: dict[tuple[int, int], tuple[Any, Any]] = {}
        # By id while the arrays live. A dead array is removed at once, so that another array with
        # the same id is never mistaken for it.
        self._values: dict[int, Value] = {}
        self._roots: dict[int, list[tuple[int, int, Buffer]]] = {}
        # memory that no array owns: (start, end, id)
        self._foreign: list[tuple[int, int, int]] = []
        # buffer of each number among the arguments -> its position
        self.given: dict[Buffer, int] = {}
        self.computed: list[NumberInput] = []  # inputs that each call computes from them
        # computations that may fail for some numbers
        self.partial: list[tuple[Callable[[list[Any]], Any], list[int]]] = []
        self.count = 0  # number of numbers that each call takes
        self.changes: Any = None  # the SideEffectTracker
        self.inside: Any = None  # the running step of a schedule, if any
        # id of an optimizer that has stepped -> its groups' options at each step
        self.stepped: dict[int, list[list[tuple[int, dict[str, Any]]]]] = {}
        self._operands: dict[tuple[int, Any], tuple[Any, Tensor]] = {}
        self._fresh: set[int] = set()  # ids of new constants
        self.checks: set[Callable[..., Any]] = set()  # functions that only check values
        self._watched: dict[int, Watched] = {}
        self._of_constants: dict[Buffer, list[Value]] = {}
        # id of an object passed to a gradient rule -> the instruction that made it, and its form
        self._objects: dict[int, tuple[Instruction, Any]] = {}
        self._alive: list[Any] = []  # those that can only be identified by id, kept alive
        self.numbers_handed_on = False
        self._paused = 0

    # ---- being active ----------------------------------------------------------------------------
    @contextmanager
    def active(self) -> Iterator[Tracer]:
        """Record inside the block."""
        observe.observers.append(self)
        interpret.push(self)
        try:
            with native.compiling_little():  # the program will have its own code
                yield self
        finally:
            interpret.pop(self)
            observe.observers.remove(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing inside the block."""
        self._paused += 1
        self.role = "paused tracer"
        thread.stack = Stack(thread.stack.all)  # a Stack reads roles when it is created
        try:
            yield
        finally:
            self._paused -= 1
            self.role = "tracer"
            thread.stack = Stack(thread.stack.all)

    def forget(self) -> None:
        """Release the call's objects, once none will be looked up by id any more."""
        self._watched.clear()
        self._alive.clear()

    def _watch(self, array: ndarray) -> None:
        """Forget an array when it dies, because another one may get its id."""
        if id(array) not in self._watched:
            self._watched[id(array)] = Watched(array, self._died)

    def _died(self, watched: Watched) -> None:
        for table in (self._values, self._roots, self._watched):
            table.pop(watched.key, None)
        self._fresh.discard(watched.key)

    @property
    def recording(self) -> bool:
        """Whether the present thread's operations are being recorded."""
        return self.refusal is None and not self._paused and threading.get_ident() == self.thread

    def refuse(self, reason: str, site: Any = None) -> None:
        """Stop recording for the given reason; the call continues eagerly."""
        if self.refusal is None:
            self.refusal = self._refusal(reason, site or self.site())

    def _refusal(self, reason: str, site: Any) -> Refusal:
        made = Refusal(reason, site, [line_in(self.root)])
        made.callees = callees_of(self.root)
        return made

    def refused(self, refusal: Refusal) -> None:
        """Stop recording because of a Refusal."""
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
        """`source.describe`, cached because it takes some time."""
        if site is None:
            return None
        key = id(site[0]), site[1]
        if key not in self._lines:
            self._lines[key] = (source.describe(site), site[0])
        return self._lines[key][0]

    # ---- arrays and values -----------------------------------------------------------------------
    def declare(self, array: ndarray, kind: str, name: str) -> Value:
        """Declare an array that exists outside of the program: an input or state."""
        low, high = bounds(array)
        buffer = self.program.buffer(kind, high - low, name)
        self.external[buffer] = array
        return self._enter(array, buffer, low, high)

    def declare_together(self, arrays: list[ndarray], names: list[str]) -> list[Value]:
        """Declare arguments that share memory: their buffer is all the memory that they use, as
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
        # memory that no array owns: two arrays may share it without a common base
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
        """The value of a known array, or of one inside known memory; otherwise None."""
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
        """Note that a new array does not depend on any tensor's values; returns it."""
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
        """The value of an array that is read. Raises Refusal if its origin is unknown."""
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
        """The value of a result, and whether it is new memory (not a view of known memory)."""
        known = self.lookup(array)
        if known is not None:
            return known, False
        if type(array) is not ndarray:
            raise Refusal(_NO_DATA)
        root = owner(array)
        if id(root) in self._roots:
            raise Refusal("a view reaches beyond the tensor that it is a view of")
        low, high = bounds(root)
        if not (low <= address(array) <= high):  # memory that does not belong to an array
            root, (low, high) = array, bounds(array)
        buffer = self.program.buffer("temp", high - low)
        self.roots[buffer] = (root.shape, root.dtype)
        if root is not array:
            self._enter(root, buffer, low, high)
            return self._known(array), True
        return self._enter(array, buffer, low, high), True

    def tree(self, value: Any, what: str, live: bool = False) -> Any:
        """Parameters with references in place of arrays. With `live`, dictionaries and unknown
        objects are kept as they are.
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
        """Declare the arrays that an operation passes to its gradient rule. Note whether there are
        numbers, since these depend on values.
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
        """Run an operation. It is hidden from the profile function if no user code is involved:
        neither in the operation, nor in its arguments, nor in a hook on what it saves.
        """
        own = PRIMITIVES.get(op.name) is op and not thread.stack.save
        own = own and _ARGUMENTS.issuperset(map(type, args))
        return (hidden(below) if own else below)(op, args, params)

    def forward(self, op: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
        """The function that computes an operation; this library's own run hidden. Watched numbers
        among the parameters are replaced by plain ones.
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
                # a view, or a custom function whose operations are recorded already
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
        """Append an operation, unless it only made a view."""
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
        """A comparable description of an object that consists of known arrays and strings, so that
        it need not be kept alive to be identified. None for other objects.
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
        """Record that `target` was given the values of `array`."""
        if not apart(target):
            # the outcome depends on the order of writes, which eager operations choose
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
        """Whether an array that is written to has no contents that matter: it is not known, not a
        constant of the step, and not that of a tensor from outside.
        """
        return (
            self.lookup(array) is None
            and id(array) not in self._fresh
            and id(owner(array)) not in self._fresh
            and self.resolve(array) is None
            and self.holder(array) is None
        )

    def copied(self, array: ndarray, made: ndarray) -> None:
        """Record a copy of an array that was made outside of operations."""
        if self.recording:
            try:
                self.emit(PRIMITIVES["clone"], (self.value(array, "a copy"),), {}, [made])
            except Exception as error:
                self.refused(refusal_of(error))

    def own(self, place: Value, target: ndarray) -> Value:
        """Turn a constant that is written to or returned into memory of the step, which each call
        initializes.
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
        """Call a function that computes on arrays outside of operations; the program repeats the
        call.

        The arguments at the positions `writes` are read and changed. Those at `fills` are entirely
        overwritten, so their former contents do not matter.
        """
        # Dictionaries (an optimizer's options) are read again by each call, and must be the same
        # objects.
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
        """Call a function that raises for wrong values. The program repeats the call, unless the
        following operation makes the same check.
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
        """The gradients of a node. The rule is recorded as operations if possible, otherwise as one
        instruction.
        """
        if not self.recording or PRIMITIVES.get(node.op.name) is not node.op:
            # a custom function: the operations of its backward are recorded themselves
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
                if widened:  # as for arrays
                    symbol, saved = (
                        space.widened(symbol),
                        saved and [space.widened(v) for v in saved],
                    )
                made = node.plan.backward(space, symbol, saved, space.wrap(node.params))
                # round before summing over broadcast dimensions
                if widened and node.op.elementwise:
                    made = tuple(
                        [
                            x if x is None or x is symbol else space.cast(x, dtype=g.dtype)
                            for x in made
                        ]
                    )
                made = space.unwrap(made)
                if widened:  # `g` itself needs no rounding
                    made = tuple([g if x is symbol.array else x for x in made])
                if all(x is None or type(x) is ndarray for x in made):
                    for k in range(mark, len(self.program.instructions)):
                        self.program.instructions[k].site = line
                    return made
            except Exception:
                # the rule does something that TracedArrays do not support: run it on arrays instead
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
    """Whether there is anything besides arrays and strings, which may depend on values."""
    if isinstance(value, (tuple, list)):
        return any(_has_numbers(v) for v in value)
    if isinstance(value, dict):
        return any(_has_numbers(v) for v in value.values())
    return not (value is None or isinstance(value, (ndarray, str)))
