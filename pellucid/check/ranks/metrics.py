"""Detect printed metrics that were computed from the data of one rank only."""

from __future__ import annotations

import builtins
import re
from typing import Any

from ..events import ModuleCall, Read, Site
from .journal import digest

_NUMBER = re.compile(r"(?<![\w.])-?\d+\.(\d+)")


class Metrics:
    """Notes what is read off tensors while a model is evaluated, and finds these numbers in what is
    printed.
    """

    def __init__(self, watch: Any) -> None:
        self.watch = watch
        self.rows = self.batches = 0
        self.reads: dict[Site | None, list[float]] = {}
        self.step = -1  # optimizer steps before the evaluation
        self.reduced = False  # the program has reduced or gathered something since

    def install(self, hooks: Any) -> None:
        """Be told of what is printed."""
        hooks.replace(builtins, "print", self._printing)

    def evaluates(self, call: ModuleCall) -> None:
        """A model is called without gradients."""
        step = self.watch.recorder.step
        if step != self.step:
            self.step, self.rows, self.batches, self.reduced = step, 0, 0, False
            self.reads = {}
        self.watch.say(
            "eval", step=step, crc=digest([a for v in call.inputs if (a := v.numpy()) is not None])
        )
        self.rows += next((v.shape[0] for v in call.inputs if v.shape), 0)
        self.batches += 1

    def read(self, read: Read) -> None:
        """A number is read off a tensor."""
        if self.step >= 0 and isinstance(read.result, (int, float)):
            held = self.reads.setdefault(read.site, [0.0, 0, 0.0])
            held[0] += float(read.result)
            held[1] += 1
            held[2] = float(read.result)

    def _printing(self, old: Any) -> Any:
        watch = self.watch

        def print(*args: Any, **kwargs: Any) -> None:
            if watch.journal is not None and self.reads and not watch.recorder.idle:
                watch.recorder.guarded(self._printed, args, watch.recorder.site(2))
            old(*args, **kwargs)

        return print

    def _printed(self, args: tuple[Any, ...], site: Site | None) -> None:
        text = " ".join(str(a) for a in args if isinstance(a, (str, int, float)))
        for found in _NUMBER.finditer(text):
            shown, half = float(found[0]), 0.5000001 * 10.0 ** -len(found[1])
            for where, (total, count, last) in self.reads.items():
                made = [total, last, 100 * total]
                for n in {self.rows, self.batches, int(count)} - {0}:
                    made += [total / n, 100 * total / n, last / n, 100 * last / n]
                if len(found[1]) >= 2 and any(abs(shown - m) <= half for m in made):
                    watch = self.watch
                    watch.say(
                        "metric",
                        s=watch.site(site),
                        value=shown,
                        text=text[:200],
                        read=watch.site(where),
                        reduced=self.reduced,
                        step=self.step,
                        chain=watch.journal.chain(watch.callers()),
                    )
                    return
