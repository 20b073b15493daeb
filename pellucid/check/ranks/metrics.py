"""Detect printed or logged metrics that were computed from the data of one rank only."""

from __future__ import annotations

import builtins
import logging
import re
from typing import Any

import numpy as np

from ..events import ModuleCall, Read, Site
from .journal import digest

_NUMBER = re.compile(r"(?<![\w.])-?\d+\.(\d+)")


class Metrics:
    """Notes what is read off tensors while a model is evaluated, and finds these numbers in what is
    printed or logged.
    """

    def __init__(self, watch: Any) -> None:
        self.watch = watch
        self.rows = self.batches = 0
        self.reads: dict[Site | None, list[float]] = {}
        self.step = -1  # optimizer steps before the evaluation
        self.reduced = False  # the program has reduced or gathered something since

    def install(self, hooks: Any) -> None:
        """Be told of what is printed and logged."""
        hooks.replace(builtins, "print", self._printing)
        hooks.replace(logging.Logger, "handle", self._logging)

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
        if self.step < 0:
            return
        number = read.result
        if read.how in ("format", "repr") and read.value.numel == 1:
            array = read.value.numpy()
            number = None if array is None or array.dtype.kind == "c" else array.item()
        if isinstance(number, (int, float)):
            held = self.reads.setdefault(read.site, [0.0, 0, 0.0])
            held[0] += float(number)
            held[1] += 1
            held[2] = float(number)

    def _printing(self, old: Any) -> Any:
        def print(*args: Any, **kwargs: Any) -> None:
            words: list[str] = []
            if self._listens():
                words = [str(a) for a in args if self._tells(a)]
            if self.reads and words:
                watch = self.watch
                watch.recorder.guarded(self._shown, " ".join(words), watch.recorder.site(2))
            old(*args, **kwargs)

        return print

    def _logging(self, old: Any) -> Any:
        def handle(logger: logging.Logger, record: logging.LogRecord) -> None:
            if self._listens() and self.reads:
                watch = self.watch
                watch.recorder.guarded(self._logged, record, watch.recorder.site(2))
            old(logger, record)

        return handle

    def _listens(self) -> bool:
        """Whether a model has been evaluated, and the program itself runs."""
        return self.step >= 0 and self.watch.journal is not None and not self.watch.recorder.idle

    def _tells(self, value: Any) -> bool:
        """Whether an argument of print may be a metric. A tensor is put into words before it is
        printed, so that reading its number is seen.
        """
        if isinstance(value, self.watch.engine.Tensor):
            return bool(value.numel() == 1)
        return isinstance(value, (str, int, float, np.generic))

    def _logged(self, record: logging.LogRecord, site: Site | None) -> None:
        self._shown(record.getMessage(), site)

    def _shown(self, text: str, site: Site | None) -> None:
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
