"""Where a program's values are stored: in constants, in state, in the arena, or in blocks that are
allocated at each call.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy import ndarray

from ...ir import Buffer, Extra, Instruction, Program, Value
from ...ir.program import substitute
from ...kernels.schedule import aligned
from ...llvm.lengths import Lengths
from ..lower.table import HANDED
from ..trace.arrays import bounds, numpy_dtype

_strided = np.lib.stride_tricks.as_strided


class Arena:
    """Memory for the temporaries of several versions, only one of which runs at a time (whoever
    runs one holds `lock`).
    """

    def __init__(self, backward: Arena | None = None) -> None:
        self.lock = threading.Lock()
        self.backward = backward  # the arena of the second halves
        self._blocks: list[weakref.ref[ndarray]] = []

    def take(self, size: int) -> ndarray:
        """A block of at least `size` bytes, which may be shared with other versions."""
        held = [block for ref in self._blocks if (block := ref()) is not None]
        fitting = [block for block in held if block.nbytes >= size]
        if fitting:
            return min(fitting, key=lambda block: block.nbytes)
        made = aligned(size + size // 2)  # room for slightly larger versions
        self._blocks = [weakref.ref(block) for block in (*held, made)]
        return made


@dataclass(slots=True)
class Storage:
    """The memory that exists before a program runs: the arrays of its constants (`contents`) and of
    the state that outlives a call (`external`).

    `roots` has the shape and dtype with which kernels allocate temporaries that are used through
    other views. `extras` holds what instructions passed to gradient rules; a forward and its
    backward share it.
    """

    contents: dict[Buffer, ndarray]
    external: dict[Buffer, ndarray]
    roots: dict[Buffer, Any] = field(default_factory=dict)
    extras: dict[Instruction, Any] = field(default_factory=dict)
    arena: Arena | None = None  # for temporaries; None: each program has its own
    lengths: Lengths | None = None  # native code shared with programs for other sizes

    def copied(self) -> Storage:
        """The same, with copies of the state."""
        return replace(
            self,
            external={b: a.copy() for b, a in self.external.items()},
            extras={},
            arena=None,
            lengths=None,
        )


class Memory:
    """The memory of a program. The blocks of its `inputs` are given at each call, those of its
    `outputs` are allocated at each call; in this order, they are the memory of a call (`env`).
    Temporaries lie in the arena, once it has been laid out.
    """

    def __init__(self, program: Program, storage: Storage) -> None:
        self.storage = storage
        self.dynamic = [v.buffer for v in program.inputs]
        self.fresh = [v.buffer for v in program.outputs]
        self.blocks = [_form(v) for v in program.outputs]
        # index in the memory of a call
        self.changing = {b: k for k, b in enumerate([*self.dynamic, *self.fresh])}
        # The offset of the first element of each input: arrays may run backwards through memory.
        self.first = {v.buffer: v.offset for v in program.inputs}
        self.arena = np.empty(0, np.uint8)
        self.offsets: dict[Any, int] = {}
        self._static: dict[Buffer, ndarray] = {}
        self._arrays: dict[Value, ndarray] = {}

    def leaving(self, make: Callable[..., ndarray] = np.empty) -> list[ndarray]:
        """New blocks for the outputs, in the order of `fresh`."""
        return [make(shape, kind) for shape, kind in self.blocks]

    def lay(self, arena: ndarray, offsets: dict[Any, int]) -> None:
        """Place the temporaries at `offsets` in the bytes of `arena`."""
        self.arena, self.offsets = arena, offsets

    def block(self, buffer: Buffer) -> ndarray:
        """The bytes of a buffer whose address is fixed."""
        made = self._static.get(buffer)
        if made is None:
            if buffer in self.storage.contents:
                made = _bytes(self.storage.contents[buffer])
            elif buffer in self.storage.external:
                made = _bytes(self.storage.external[buffer])
            else:
                start = self.offsets[buffer]
                made = self.arena[start : start + buffer.size]
            self._static[buffer] = made
        return made

    def array(self, value: Value) -> ndarray | None:
        """The array of a value; None if it differs at each call."""
        if value.buffer in self.changing:
            return None
        made = self._arrays.get(value)
        if made is None:
            made = self._arrays[value] = look(self.block(value.buffer), value)
        return made

    def getter(self, value: Any) -> Callable[[list[Any]], Any]:
        """A function that returns the array of a value, given the memory of a call. `value` may
        also be a number or an Extra.
        """
        if isinstance(value, Extra):
            instruction, extras = value.instruction, self.storage.extras
            form = HANDED.get(instruction.op)
            if form is None:
                return lambda env: extras[instruction]
            parts = [self.getter(v) for v in instruction.extras]
            # Native code stores only the arrays; the gradient rule expects them in their structure.
            return lambda env: (
                extras[instruction] if instruction in extras else form([get(env) for get in parts])
            )
        if not isinstance(value, Value):
            return lambda env: value
        fixed = self.array(value)
        if fixed is not None:
            return lambda env: fixed
        k = self.changing[value.buffer]
        new = k - len(self.dynamic)
        if value.whole and new >= 0 and self.blocks[new] == _form(value):
            return itemgetter(k)  # made for this value
        kind, shape, offset, strides = (
            numpy_dtype(value.dtype),
            value.shape,
            value.offset,
            value.strides,
        )
        plain = value.whole

        def get(env: list[Any]) -> ndarray:
            memory = env[k]
            if (
                plain
                and memory.shape == shape
                and memory.dtype == kind
                and memory.flags.c_contiguous
            ):
                return memory
            if memory.flags.c_contiguous:
                return ndarray(shape, kind, memory, offset, strides)
            start = _low(memory)
            return _strided(_at(memory, start + offset, kind), shape, strides)

        return get

    def tree(self, params: Any) -> Callable[[list[Any]], Any]:
        """A function that returns parameters with arrays in place of references, given the memory
        of a call.
        """
        getters: list[tuple[Any, Callable[[list[Any]], Any]]] = []
        varies = False

        def find(v: Any) -> Any:
            nonlocal varies
            varies |= isinstance(v, Extra) or v.buffer in self.changing
            getters.append((v, self.getter(v)))
            return None

        substitute(params, find)
        if not getters:
            return lambda env: params
        table = {id(v): get for v, get in getters}
        if not varies:
            fixed = substitute(params, lambda v: table[id(v)]([]))
            return lambda env: fixed
        return lambda env: substitute(params, lambda v: table[id(v)](env))


def _form(value: Value) -> tuple[Any, np.dtype]:
    """The shape and dtype of an output's block: those of the value if it fills the block, so that a
    tensor can own it; otherwise bytes.
    """
    if value.whole:
        return value.shape, numpy_dtype(value.dtype)
    return (value.buffer.size,), np.dtype(np.uint8)


def look(memory: ndarray, value: Value) -> ndarray:
    """The array of a value in the bytes of its buffer."""
    return np.ndarray(value.shape, numpy_dtype(value.dtype), memory, value.offset, value.strides)


def _bytes(array: ndarray) -> ndarray:
    """The bytes from an array's first address to its last."""
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
    low, high = _extent(array)
    return _strided(_at(array, low, np.dtype(np.uint8)), (high - low,), (1,))


def stretch(array: ndarray, low: int, high: int) -> ndarray:
    """The bytes between two addresses in the memory of an array."""
    return _strided(
        _at(array, low - array.__array_interface__["data"][0], np.dtype(np.uint8)),
        (high - low,),
        (1,),
    )


def _extent(array: ndarray) -> tuple[int, int]:
    low, high = bounds(array)
    start = array.__array_interface__["data"][0]
    return low - start, high - start


def _low(array: ndarray) -> int:
    return _extent(array)[0]


class _Window:
    """Exposes memory at an address to NumPy, and keeps its owner alive."""

    def __init__(self, owner: ndarray, address: int, kind: np.dtype) -> None:
        self.base = owner
        self.__array_interface__ = {
            "data": (address, not owner.flags.writeable),
            "shape": (1,),
            "typestr": "|u1",
            "version": 3,
        }


def _at(array: ndarray, shift: int, kind: np.dtype) -> ndarray:
    """A one-element array `shift` bytes from the start of an array."""
    address = array.__array_interface__["data"][0] + shift
    window = _Window(array, address, kind)
    window.__array_interface__["shape"] = (kind.itemsize,)
    return np.asarray(window).view(kind)
