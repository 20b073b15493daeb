"""A progress bar for loops over batches and epochs."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from .. import config
from ..core.tensor import Tensor

T = TypeVar("T")

_now = time.monotonic
_REDRAW = 0.1  # seconds between two states on a terminal
_LINES = 10.0  # seconds between two lines elsewhere: a log file, a pipe


class Progress(Generic[T]):
    """What `progress` returns: an iterable that reports how far it is; also a context manager with
    `update(n)`.

    >>> import io
    >>> from pellucid.utils.data import progress
    >>> bar = progress(range(3), "epoch", file=io.StringIO())
    >>> [step for step in bar], bar.n
    ([0, 1, 2], 3)
    """

    def __init__(
        self,
        iterable: Iterable[T] | None,
        description: str,
        total: int | None,
        unit: str,
        file: Any,
    ) -> None:
        if total is None and iterable is not None:
            try:
                total = len(iterable)  # type: ignore[arg-type]
            except TypeError:  # a generator, or the loader of an iterable dataset
                total = None
        self.iterable = iterable
        self.description = description
        self.total = total
        self.unit = unit
        self.file = sys.stderr if file is None else file
        self.n = 0
        self.values: dict[str, Any] = {}
        self.enabled = bool(config.progress) and self.file is not None
        self._terminal = self.enabled and bool(getattr(self.file, "isatty", lambda: False)())
        self._shown = 0  # characters of the line on the terminal
        self._open = False

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError(f"object of type '{type(self).__name__}' has no len()")
        return self.total

    def __iter__(self) -> Iterator[T]:
        if self.iterable is None:
            raise TypeError("progress() was given no iterable: call update() as work is done")
        return self._run(self.iterable)

    def _run(self, items: Iterable[T]) -> Iterator[T]:
        self._begin()
        try:
            for item in items:
                yield item
                self.update()
        finally:
            self.close()

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, n: int = 1) -> None:
        """Count `n` more items as done."""
        if not self._open:
            self._begin()
        self.n += n
        if self.enabled:
            now = _now()
            if now >= self._next:
                self._show(now)

    def postfix(self, **values: Any) -> None:
        """Values that stand at the end of the line, such as the loss: numbers, texts, tensors of
        one element.

        Tensors are read only when the line is written.
        """
        # A tensor is kept without its graph, which would live as long as the bar otherwise.
        self.values.update(
            {k: v.detach() if isinstance(v, Tensor) else v for k, v in values.items()}
        )

    set_postfix = postfix

    def close(self) -> None:
        """Write the last state and end the line."""
        if not self._open:
            return
        self._open = False
        if self.enabled:
            self._show(_now())
            if self._terminal:
                self.file.write("\n")
                self.file.flush()

    def _begin(self) -> None:
        self.n = 0
        self._open = True
        self._start = _now()
        self._next = self._start if self._terminal else self._start + _LINES
        self._shown = 0

    def _show(self, now: float) -> None:
        line = self._line(now - self._start)
        if self._terminal:
            line = line[: max(shutil.get_terminal_size().columns - 1, 10)]
            self.file.write("\r" + line + " " * (self._shown - len(line)))
            self._shown = len(line)
            self._next = now + _REDRAW
        else:
            self.file.write(line + "\n")
            self._next = now + _LINES
        self.file.flush()

    def _line(self, seconds: float) -> str:
        rate = self.n / seconds if seconds > 0 else 0.0
        if self.total is None:
            done, times = f"{self.n} {self.unit}", _duration(seconds)
        else:
            part = min(self.n / self.total, 1.0) if self.total else 1.0
            drawn = ("#" * round(20 * part)).ljust(20, "-")
            bar = f" |{drawn}|" if self._terminal else ""
            done = f"{part:4.0%}{bar} {self.n}/{self.total}"
            left = _duration((self.total - self.n) / rate) if rate and self.n <= self.total else "?"
            times = f"{_duration(seconds)}<{left}"
        ends = [
            times,
            _speed(rate, self.unit),
            *(f"{k}={_value(v)}" for k, v in self.values.items()),
        ]
        return f"{self.description + ': ' if self.description else ''}{done} [{', '.join(ends)}]"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _speed(rate: float, unit: str) -> str:
    if not rate:
        return f"? {unit}/s"
    return f"{rate:.3g} {unit}/s" if rate >= 1 else f"{1 / rate:.3g} s/{unit}"


def _value(value: Any) -> str:
    if isinstance(value, Tensor):
        value = value.tolist()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def progress(
    iterable: Iterable[T] | None = None,
    description: str = "",
    *,
    total: int | None = None,
    unit: str = "it",
    file: Any = None,
) -> Progress[T]:
    """Wraps `iterable` and reports its progress on stderr: part done, elapsed and remaining time,
    items per second, your own values.

    On a terminal one line is redrawn, at most 10 times a second; elsewhere a line is written every
    10 seconds and at the end. Nothing is written with `PELLUCID_PROGRESS=0` in the environment. Not
    part of PyTorch.

    Args:
        iterable: a DataLoader, a range, anything; without it, use `with progress(total=...) as bar`
            and `bar.update(n)`.
        description: stands at the beginning of the line.
        total: how many items there are, if the iterable has no length.
        unit: the name of an item.
        file: where to write, in place of stderr.

    Example:
        >>> import sys, pellucid as torch
        >>> bar = torch.data.progress(range(3), "epoch 1", unit="batch", file=sys.stdout)
        >>> for x in bar:
        ...     bar.postfix(loss=0.5 * x)  # doctest: +ELLIPSIS
        epoch 1: 100% 3/3 [00:00<00:00, ... batch/s, loss=1]
    """
    return Progress(iterable, description, total, unit, file)
