"""Measure each item of a compiled step, and compute the minimum that this machine's memory and
arithmetic allow (the roofline).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ...kernels.matmul import call as matmul
from ...kernels.pointwise.loop import emit
from ...llvm import threads
from ..passes.fuse import Item, loop_of
from ..run.execute import Executable


@dataclass
class Timing:
    """The measurement of one item: seconds (None: it was not run), a lower bound of the bytes
    moved, and the number of operations.
    """

    item: Item
    title: str
    seconds: float | None
    bytes: int
    flops: int

    @property
    def roof(self) -> float:
        """The minimum time in seconds that this machine needs, assuming that the data lie in the
        nearest cache that can hold them.
        """
        return max(
            self.bytes / bandwidth(self.bytes), self.flops / speed(threads.get_num_threads())
        )

    def note(self) -> None:
        """Record the speed that was reached: the machine can do at least that, even if other work
        disturbed its own measurement.
        """
        if self.seconds:
            for what, amount in (
                (("bytes", _place(self.bytes)), self.bytes),
                (("flops", threads.get_num_threads()), self.flops),
            ):
                _reached[what] = max(_reached.get(what, 0.0), amount / self.seconds)


# ("bytes", index in SIZES) -> bytes per second; ("flops", number of threads) -> operations per
# second
_reached: dict[tuple[str, int], float] = {}
# bytes; roughly the sizes of common caches, and main memory
SIZES = (1 << 15, 1 << 19, 1 << 22, 1 << 26)


@functools.cache
def _bandwidths() -> tuple[float, ...]:
    """For each of SIZES, the bytes per second that one thread moves by copies that touch that many
    bytes in total.
    """
    found = []
    for size in SIZES:
        a, b = np.ones(size // 16, np.float64), np.empty(size // 16, np.float64)
        times = max(1, SIZES[2] // size)
        found.append(
            times
            * size
            / min(
                _once(lambda a=a, b=b, times=times: [np.copyto(b, a) for _ in range(times)])
                for _ in range(5)
            )
        )
    return tuple(found)


def bandwidth(size: int) -> float:
    """The bytes per second that one thread can move if a computation touches `size` bytes."""
    place = _place(size)
    return max(_bandwidths()[place], _reached.get(("bytes", place), 0.0))


def _place(size: int) -> int:
    return next((k for k, limit in enumerate(SIZES) if size <= limit), len(SIZES) - 1)


def speed(team: int) -> float:
    """Float32 operations per second with `team` threads: measured by a product of 768-row matrices,
    or reached by an item.
    """
    return max(_speed(team), _reached.get(("flops", team), 0.0))


@functools.cache
def _speed(team: int) -> float:
    x = np.ones((768, 768), np.float32)
    return 2 * 768**3 / min(_once(lambda: matmul.multiply(x, x)) for _ in range(5))


def _once(work: Any) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def work_of(item: Item) -> tuple[int, int]:
    """The bytes that an item must move, and the operations it performs."""
    if item.kind == "loop":
        kernel = emit(loop_of(item)[0], "measured")
        return kernel.bytes, kernel.flops
    if item.kind == "product":
        p = item.product[0]
        times = math.prod(count for count, *_ in p.batch)
        # The element size. It also scales the operations: one in float64 counts as two in float32,
        # two in bfloat16 as one.
        size = {"float": 4, "double": 8, "bfloat": 2}[p.ctype]
        return size * times * (
            p.m * p.k + p.k * p.n + p.m * p.n
        ), times * p.m * p.n * p.k * size // 2
    if item.kind == "native":
        return item.product.bytes, item.product.flops
    if item.kind == "update":
        size = sum(p.size for p in item.product.params)
        # all arrays are read, and all except gradients are written
        moved = 2 * len(item.product.rule.arrays) + 3
        return sum(p.nbytes for p in item.product.params) * moved, 12 * size
    seen = {v.buffer: v.nbytes for i in item.instructions for v in (*i.reads(), *i.made())}
    return sum(seen.values()), 0


def title_of(item: Item) -> str:
    """A one-line description of what an item computes."""
    names = ", ".join(i.op for i in item.instructions)
    if item.kind == "loop":
        return f"loop over {'x'.join(map(str, item.shape)) or 'a scalar'}: {names}"
    if item.kind == "product":
        p = item.product[0]
        times = math.prod(count for count, *_ in p.batch)
        return (
            f"product {p.m}x{p.k}x{p.n}"
            + (f", {times} times" if times > 1 else "")
            + f" by {p.served()}"
        )
    if item.kind == "native":
        return item.product.title
    if item.kind == "update":
        return f"{item.product.rule.title} update of {len(item.product.params)} parameters"
    return names


def _zeros(run: Executable) -> list[np.ndarray]:
    """The memory of a call, filled with zeros."""
    given = [np.zeros(max(b.size, 1), np.uint8) for b in run.memory.dynamic]
    return given + run.memory.leaving(np.zeros)


def timings(run: Executable, repeat: int = 7) -> list[Timing]:
    """Time each item by itself, on copies of everything that it writes. Random draws and updates in
    Python are not run.
    """
    items = run.items
    made = [Timing(item, title_of(item), None, *work_of(item)) for item in items]
    sandbox = Executable(run.program, run.memory.storage.copied(), apart=True)
    if sandbox.failure is not None or len(sandbox.steps) != len(items):
        return made
    env = _zeros(run)
    sandbox.memory.arena[:] = 0
    sandbox.ready()
    for timing, step in zip(made, sandbox.steps, strict=True):
        if timing.item.kind == "eager" and timing.item.instructions[0].kind == "call":
            continue
        try:
            timing.seconds = min(_once(lambda step=step: step(env)) for _ in range(repeat))
        except Exception:  # zeros are not valid labels or indices for it
            timing.seconds = None
        timing.note()
    return made


def one_by_one(run: Executable, repeat: int = 5) -> float | None:
    """The seconds that the program's operations take when each is called by itself, as in eager
    execution. None if one cannot run on zeros.

    Optimizer updates and other calls of library code are left out, and so is the time for recording
    a graph.
    """
    sandbox = Executable(run.program, run.memory.storage.copied(), native=False)
    env = _zeros(sandbox)
    sandbox.memory.arena[:] = 0
    sandbox.ready()
    total = 0.0
    for item, step in zip(sandbox.items, sandbox.steps, strict=True):
        if item.instructions[0].kind == "call":
            continue
        try:
            total += min(_once(lambda step=step: step(env)) for _ in range(repeat))
        except Exception:
            return None
    return total
