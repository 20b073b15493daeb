"""Connectionist temporal classification: losses of label sequences over all alignments, and their
gradients (float32 and float64).

The states of a sample are its labels with blanks between and around them, 2 * labels + 1 in all.
Forward variables of all steps are kept for the gradient. Each of their rows begins with two cells
of minus infinity, so that vectors can look back from the first states. Targets are padded `(N, S)`,
or concatenated in one row. Source: Graves et al., "Connectionist Temporal Classification", 2006.

    >>> args = np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1, np.int64)
    >>> made = losses(np.log(np.array([[[0.25, 0.75]]])), *args, 0)
    >>> made is None or round(float(np.exp(-made[0])[0]), 3) == 0.25
    True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm import math as functions
from ...llvm.c_library import HAS_C_FUNCTIONS, through_c
from ...llvm.emit import Function, Module, SSAValue, types_of, vector
from ..windows.grid import gathered

__all__ = ["cells", "gradient", "losses", "native", "numbers", "room"]

_CTYPES = types_of("float32 float64")
_LOW = -math.inf
_NUMBERS = dict.fromkeys(("steps", "batch", "classes", "pitch", "blank", "cells"), "i64")


def _exp(f: Function, x: SSAValue) -> SSAValue:
    return functions.exp(f, x) if "float" in x.ctype else through_c(f, "exp", x)


def _log(f: Function, x: SSAValue) -> SSAValue:
    return functions.log(f, x) if "float" in x.ctype else through_c(f, "log", x)


def _together(f: Function, *terms: SSAValue) -> SSAValue:
    """Return log(sum of exp) of the terms."""
    top = terms[0]
    for x in terms[1:]:
        top = f.larger(top, x)
    top = f.select(top.compare("oeq", _LOW), f.const(0.0, top.ctype), top)
    total = _exp(f, terms[0] - top)
    for x in terms[1:]:
        total = total + _exp(f, x - top)
    return _log(f, total) + top


class _Sample:
    """Emits the addresses of a sample's data, and the code that writes its labels with blanks."""

    def __init__(self, f: Function, n: SSAValue, ctype: str) -> None:
        self.f, self.n, self.ctype = f, n, ctype
        self.width = target.host().lanes(ctype)
        self.kind, self.ints = vector(ctype, self.width), vector("i64", self.width)
        self.length, self.steps = f.load("i64", f.lengths, n), f.load("i64", f.used, n)
        start = f.var("i64", n * f.pitch)
        with f.when(f.pitch.compare("slt", 0)):
            start.set(0)
            with f.loop(0, n) as m:
                start.set(start.get() + f.load("i64", f.lengths, m))
        self.start, self.states = start.get(), self.length * 2 + 1
        self.cell = self.start * 2 + n * 3  # the sample's first cell, counted across all samples
        self.pitch = self.states + 2
        self.labels = f.at(f.scratch, self.cell, "i64")
        reals = f.at(f.scratch, f.cells, "i64")
        self.skips, self.ahead, self.behind, self.posterior = (
            f.at(reals, f.cells * k + self.cell, ctype) for k in range(4)
        )
        with f.loop(0, self.states) as s:
            odd = (s & 1).compare("ne", 0)
            label = f.var("i64", f.blank)
            with f.when(odd):
                label.set(f.load("i64", f.targets, self.start + (s >> 1)))
            f.store(label.get(), self.labels, s)
            before = f.load("i64", self.labels, f.larger(s - 2, 0))
            may = (
                s.compare("sge", 2)
                & label.get().compare("ne", f.blank)
                & label.get().compare("ne", before)
            )
            f.store(f.select(may, f.const(0.0, ctype), f.const(_LOW, ctype)), self.skips, s)
        self.clear(f.at(self.skips, self.states, ctype))

    def clear(self, cells: SSAValue) -> None:
        """Emit a store of minus infinity to two cells."""
        for k in range(2):
            self.f.store(self.f.const(_LOW, self.ctype), cells, k)

    def line(self, pointer: SSAValue, t: SSAValue) -> SSAValue:
        """Return the address of a step's classes."""
        return self.f.at(pointer, (t * self.f.batch + self.n) * self.f.classes, self.ctype)

    def alpha(self, t: SSAValue | int) -> SSAValue:
        """Return the address of a step's forward variable for the first state."""
        first = self.f.at(self.f.alpha, self.cell * self.f.steps, self.ctype)
        return self.f.at(first, self.pitch * t + 2 if isinstance(t, SSAValue) else 2, self.ctype)

    def emitted(self, line: SSAValue, s: SSAValue, mask: SSAValue | None) -> SSAValue:
        """Load the log_probs of the labels of some states."""
        labels = self.f.load(self.ints, self.labels, s, mask=mask)
        here = mask or self.f.const(1, vector("i1", self.width))
        return gathered(self.f, line, labels, here, self.ctype, self.width)


def _losses(module: Module, ctype: str) -> None:
    params = {
        **dict.fromkeys(("x", "targets", "used", "lengths", "loss", "alpha", "scratch"), "ptr"),
        **_NUMBERS,
    }
    f = threads.parallel_export(module, f"losses.{ctype}", params)
    with f.loop(f.begin, f.end) as n:
        one = _Sample(f, n, ctype)
        first = one.alpha(0)
        f.vector_loop(
            one.states,
            one.width,
            lambda s, mask: f.store(f.const(_LOW, one.kind), first, s, mask=mask),
        )
        with f.loop(
            0,
            f.smaller(
                f.select(one.steps.compare("sgt", 0), f.const(2, "i64"), f.const(0, "i64")),
                one.states,
            ),
        ) as s:
            f.store(
                f.load(ctype, one.line(f.x, f.const(0, "i64")), f.load("i64", one.labels, s)),
                first,
                s,
            )
        one.clear(f.at(first, -2, ctype))
        with f.loop(1, one.steps) as t:
            line, before, here = one.line(f.x, t), one.alpha(t - 1), one.alpha(t)
            one.clear(f.at(here, -2, ctype))

            def states(
                s: SSAValue,
                mask: SSAValue | None,
                line: SSAValue = line,
                before: SSAValue = before,
                here: SSAValue = here,
            ) -> None:
                a, b, c = (f.load(one.kind, before, s - k, mask=mask) for k in range(3))
                skip = f.load(one.kind, one.skips, s, mask=mask)
                f.store(
                    _together(f, a, b, c + skip) + one.emitted(line, s, mask), here, s, mask=mask
                )

            f.vector_loop(one.states, one.width, states)
        last = one.alpha(f.larger(one.steps - 1, 0))
        # without labels the second one is a cell of minus infinity before the first state
        ends = [f.load(ctype, last, one.states - k) for k in (1, 2)]
        none = f.select(one.length.compare("eq", 0), f.const(0.0, ctype), f.const(math.inf, ctype))
        wide = [f.splat(e, one.kind) for e in ends]
        made = f.fold(_together(f, *wide), f.larger)
        f.store(f.select(one.steps.compare("eq", 0), none, 0.0 - made), f.loss, n)
    f.ret()


def _gradient(module: Module, ctype: str) -> None:
    """Emit exp(log_probs) minus the posterior of each class. Like PyTorch, it assumes that
    log_probs are normalized.
    """
    pointers = ("g", "x", "loss", "alpha", "targets", "used", "lengths", "out", "scratch")
    f = threads.parallel_export(
        module, f"gradient.{ctype}", {**dict.fromkeys(pointers, "ptr"), **_NUMBERS}
    )
    with f.loop(f.begin, f.end) as n:
        one = _Sample(f, n, ctype)
        kind, width = one.kind, one.width
        g, loss = f.load(ctype, f.g, n), f.load(ctype, f.loss, n)
        used = f.select(g.compare("oeq", 0.0), f.const(0, "i64"), one.steps)
        with f.loop(used, f.steps) as t:
            line = one.line(f.out, t)

            def clear(c: SSAValue, mask: SSAValue | None, line: SSAValue = line) -> None:
                f.store(f.const(0.0, kind), line, c, mask=mask)

            f.vector_loop(f.classes, width, clear)
        now, after = f.var("ptr", one.ahead), f.var("ptr", one.behind)
        for row in (one.ahead, one.behind):
            one.clear(f.at(row, one.states, ctype))
        with f.loop(0, used) as back:
            t = used - 1 - back
            line, out, alpha, beta, later = (
                one.line(f.x, t),
                one.line(f.out, t),
                one.alpha(t),
                now.get(),
                after.get(),
            )

            def classes(
                c: SSAValue, mask: SSAValue | None, line: SSAValue = line, out: SSAValue = out
            ) -> None:
                f.store(
                    _exp(f, f.load(kind, line, c, mask=mask)) * f.splat(g, kind), out, c, mask=mask
                )

            f.vector_loop(f.classes, width, classes)
            ended = back.compare("eq", 0)

            def states(
                s: SSAValue,
                mask: SSAValue | None,
                line: SSAValue = line,
                alpha: SSAValue = alpha,
                beta: SSAValue = beta,
                later: SSAValue = later,
                ended: SSAValue = ended,
            ) -> None:
                emitted, total = one.emitted(line, s, mask), f.var(kind)

                def first() -> None:
                    lane = f.splat(s, one.ints) + f.iota(one.ints)
                    total.set(
                        f.select(
                            lane.compare("sge", f.splat(one.states - 2, one.ints)),
                            f.const(0.0, kind),
                            f.const(_LOW, kind),
                        )
                    )

                def others() -> None:
                    a, b, c = (f.load(kind, later, s + k, mask=mask) for k in range(3))
                    total.set(_together(f, a, b, c + f.load(kind, one.skips, s + 2, mask=mask)))

                f.branch(ended, first, others)
                f.store(total.get() + emitted, beta, s, mask=mask)
                weight = _exp(
                    f, f.load(kind, alpha, s, mask=mask) + total.get() + f.splat(loss, kind)
                )
                f.store(weight * f.splat(g, kind), one.posterior, s, mask=mask)

            f.vector_loop(one.states, width, states)
            with f.loop(0, one.states) as s:
                to = f.at(out, f.load("i64", one.labels, s), ctype)
                f.store(f.load(ctype, to) - f.load(ctype, one.posterior, s), to)
            now.set(later)
            after.set(beta)
    f.ret()


def _fits(module: Module) -> None:
    """Emit `fits(targets, used, lengths, steps, batch, classes, pitch, size)`, which returns 1 if
    lengths and labels are valid.
    """
    f = module.function(
        "fits",
        "i64",
        targets="ptr",
        used="ptr",
        lengths="ptr",
        steps="i64",
        batch="i64",
        classes="i64",
        pitch="i64",
        size="i64",
    )
    good, start, whole = f.var("i1", 1), f.var("i64", 0), f.pitch.compare("slt", 0)
    with f.loop(0, f.batch) as n:
        used, length = f.load("i64", f.used, n), f.load("i64", f.lengths, n)
        with f.when(whole.compare("eq", 0)):
            start.set(n * f.pitch)
        room = f.select(whole, f.size - start.get(), f.pitch)
        fine = (
            used.compare("sge", 0)
            & used.compare("sle", f.steps)
            & length.compare("sge", 0)
            & length.compare("sle", room)
        )
        good.set(good.get() & fine)
        with f.when(fine):
            with f.loop(start.get(), start.get() + length) as k:
                good.set(good.get() & f.load("i64", f.targets, k).compare("ult", f.classes))
            start.set(start.get() + length)
    good.set(good.get() & (whole.compare("eq", 0) | start.get().compare("eq", f.size)))
    f.ret(f.emit(f"zext i1 {good.get().name} to i64", "i64"))


def _build(name: str) -> str:
    module, (kind, _, ctype) = Module(), name.partition(".")
    if kind == "fits":
        _fits(module)
    else:
        (_losses if kind == "losses" else _gradient)(module, ctype)
    return module.text(name)


_EXPORTS = {"fits": "aaaiiiii>i"}
for _ctype in _CTYPES.values():
    _EXPORTS |= {
        f"losses.{_ctype}": "p" + "a" * 7 + "i" * 8,
        f"gradient.{_ctype}": "p" + "a" * 9 + "i" * 8,
    }
_lib = jit.NativeLibrary("ctc", _build, _EXPORTS)


def _kernel(kind: str, dtype: str) -> Any:
    if dtype not in _CTYPES or dtype == "float64" and not HAS_C_FUNCTIONS:
        return None
    return getattr(_lib, f"{kind}.{_CTYPES[dtype]}")


def native(kind: str, dtype: str = "") -> int | None:
    """Return the address of a kernel ("losses", "gradient" or "fits"), or None if it is not
    available.
    """
    function = _kernel(kind, dtype) if dtype else getattr(_lib, kind)
    return None if function is None else jit.address(function)


def cells(targets: int, batch: int) -> int:
    """Return the number of states of all samples, plus two for each."""
    return 2 * targets + 3 * batch


def room(targets: int, batch: int, dtype: str) -> int:
    """Return the size of the working memory in bytes."""
    return cells(targets, batch) * (8 + 4 * np.dtype(dtype).itemsize)


def numbers(shape: tuple[int, ...], targets: tuple[int, ...], blank: int) -> tuple[int, ...]:
    """Return the last arguments of both kernels, for log_probs and targets of these shapes."""
    batch = shape[1]
    return (
        *shape,
        targets[1] if len(targets) == 2 else -1,
        blank,
        cells(math.prod(targets), batch),
        batch,
        1,
    )


def losses(
    x: np.ndarray, targets: np.ndarray, used: np.ndarray, lengths: np.ndarray, blank: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the loss of each sample of log_probs `(T, N, C)`, and the forward variables; None if
    there is no kernel.

    `used` are the lengths in log_probs, `lengths` those of the targets, which are `(N, S)` or
    concatenated in one row.
    """
    function = _kernel("losses", name_of(x.dtype))
    if function is None:
        return None
    steps, batch, _ = x.shape
    loss = np.empty(batch, x.dtype)
    alpha = np.empty(max(steps, 1) * cells(targets.size, batch), x.dtype)
    scratch = np.empty(room(targets.size, batch, name_of(x.dtype)), np.uint8)
    arrays = map(np.ascontiguousarray, (x, targets, used, lengths))
    function(threads.team(), *arrays, loss, alpha, scratch, *numbers(x.shape, targets.shape, blank))
    return loss, alpha


def gradient(
    g: np.ndarray,
    x: np.ndarray,
    loss: np.ndarray,
    alpha: np.ndarray,
    targets: np.ndarray,
    used: np.ndarray,
    lengths: np.ndarray,
    blank: int,
) -> np.ndarray:
    """Return the gradient of log_probs, given the gradient of the losses."""
    out = np.empty(x.shape, x.dtype)
    scratch = np.empty(room(targets.size, x.shape[1], name_of(x.dtype)), np.uint8)
    arrays = map(np.ascontiguousarray, (g, x, loss, alpha, targets, used, lengths))
    _kernel("gradient", name_of(x.dtype))(
        threads.team(), *arrays, out, scratch, *numbers(x.shape, targets.shape, blank)
    )
    return out
