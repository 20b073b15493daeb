"""Measuring how long a statement takes (`torch.utils.benchmark`): `Timer`, the `Measurement` it
gives, and `Compare`, a table of several.

>>> from pellucid.utils.benchmark import Timer
>>> found = Timer("x + 1", globals={"x": 1}).timeit(10)
>>> found.number_per_run, len(found.raw_times), found.median >= 0
(10, 1, True)
"""

from __future__ import annotations

import dataclasses
import statistics
import textwrap
import time
import timeit
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from ..api.settings import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "unit_to_english"]

timer = time.perf_counter
_UNITS = {1e-9: "ns", 1e-6: "us", 1e-3: "ms", 1.0: "s"}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t: float) -> tuple[str, float]:
    """The unit that shows a time with one to three digits, and how many seconds it has.

    >>> select_unit(0.0025)
    ('ms', 0.001)
    """
    for scale in sorted(_UNITS, reverse=True):
        if t >= scale:
            return _UNITS[scale], scale
    return "ns", 1e-9


def unit_to_english(u: str) -> str:
    """The unit in words: `millisecond` for `ms`."""
    return _ENGLISH[u]


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was measured: the statement and what it is called."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The preparation, as it is printed."""
        if not self.setup or self.setup == "pass":
            return ""
        return (
            f"setup:\n{textwrap.indent(self.setup, '  ')}"
            if "\n" in self.setup
            else f"setup: {self.setup}"
        )

    def summarize(self) -> str:
        """Everything that tells this measurement from others."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of one statement: `raw_times` are seconds of `number_per_run` executions each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name != "task_spec" and name in {
            field.name for field in dataclasses.fields(TaskSpec)
        } | {"title"}:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds of one execution, run by run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread leaves: 1 to 3."""
        if len(self.times) < 2 or not self.median:
            return 3 if self.median else 1
        spread = self.iqr / self.median
        return 3 if spread < 0.01 else 2 if spread < 0.1 else 1

    @property
    def has_warnings(self) -> bool:
        """Whether the quartiles are more than a tenth of the median apart."""
        return len(self.times) > 1 and self.iqr > 0.1 * self.median

    @property
    def as_row_name(self) -> str:
        """What the row of a table is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are within this part of the median."""
        return self.iqr / self.median < threshold if self.median else True

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each statement, with all its times per execution."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [
            Measurement(1, [t for m in group for t in m.times], task, None)
            for task, group in groups.items()
        ]

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        lines = [
            f"<{Measurement.__module__}.Measurement object at {hex(id(self))}>",
            self.task_spec.summarize(),
        ]
        count = len(self.times)
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count > 1:
            low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
            lines.append(
                f"  IQR:    {(high - low) / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})"
            )
        runs = f"{count} measurement{'s' if count > 1 else ''}"
        each = f"{self.number_per_run} runs per measurement" if self.number_per_run > 1 else "1 run"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        return "\n".join([*lines, f"  {runs}, {each}, {threads}"])


class Timer:
    """Measures a Python statement.

    Args:
        stmt: the statement; its value is thrown away.
        setup: what runs once before each measurement.
        timer: gives the time in seconds.
        globals: the names that the statement may use.
        label, sub_label, description: what `Compare` calls the table, the row and the column.
        num_threads: as many threads work while it is measured.

    >>> import pellucid as torch
    >>> from pellucid.utils.benchmark import Timer
    >>> measured = Timer("x + 1", globals={"x": torch.ones(2)}).timeit(10)
    >>> measured.number_per_run, measured.median > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(getattr(language, "value", language)).lower() not in ("python", "py", "0"):
            raise NotImplementedError(
                "torch.utils.benchmark.Timer of C++ is not supported: there is no C++ library to build against"
            )
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        # The names of a script are bound when it is made; `torch` is always one of them.
        import sys

        names = dict(globals or {})
        names.setdefault("torch", sys.modules[__name__.partition(".")[0]])
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._timer = timeit.Timer(stmt=stmt, setup=setup or "pass", timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt=stmt,
            setup=setup,
            label=label,
            sub_label=sub_label,
            description=description,
            env=env,
            num_threads=num_threads,
        )

    def _measured(self, runs: Callable[[], tuple[int, list[float]]]) -> Measurement:
        before = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            number, times = runs()
        finally:
            set_num_threads(before)
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of `number` executions, after a short warm-up."""

        def runs() -> tuple[int, list[float]]:
            self._timer.timeit(max(number // 100, 2))
            return number, [self._timer.timeit(number)]

        return self._measured(runs)

    def _block_size(self, min_run_time: float) -> int:
        """How many executions take so long that reading the clock does not count."""
        overhead = statistics.median([self._timer.timeit(0) for _ in range(5)])
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if overhead <= taken * 1e-4 or taken >= min_run_time / 1000 or taken >= 10:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of executions until `min_run_time` seconds have passed."""

        def runs() -> tuple[int, list[float]]:
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time or len(times) < 2:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
            return number, times

        return self._measured(runs)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Blocks of executions until the quartiles are within `threshold` of the median, or
        `max_run_time` seconds have passed.
        """

        def runs() -> tuple[int, list[float]]:
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < max_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                enough = len(times) > 3 and sum(times) >= min_run_time
                if enough and Measurement(number, times, self._task_spec).meets_confidence(
                    threshold
                ):
                    break
            return number, times

        return self._measured(runs)

    autorange = blocked_autorange

    def collect_callgrind(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse: instructions are counted by Valgrind, which runs a C++ build of PyTorch."""
        raise NotImplementedError(
            "torch.utils.benchmark.Timer.collect_callgrind is not supported: use cProfile or pellucid.profiler"
        )


class Compare:
    """A table of measurements: a block for each label, a row for each sub-label and number of
    threads, a column for each description.
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self._results = list(results)
        self._trim = False
        self._highlight = False

    def __str__(self) -> str:
        blocks: dict[str, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            blocks.setdefault(m.label or "[Unnamed]", []).append(m)
        return "\n".join(self._block(label, group) for label, group in blocks.items())

    def _block(self, label: str, group: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in group))
        columns = list(dict.fromkeys(m.description or "" for m in group))
        threads = sorted({m.num_threads for m in group})
        rows = list(dict.fromkeys(m.as_row_name for m in group))
        cells = {
            (m.num_threads, m.as_row_name, m.description or ""): (
                f"{m.median / scale:.{m.significant_figures}g}"
                if self._trim
                else f"{m.median / scale:.1f}"
            )
            for m in group
        }
        first = max(len(row) for row in rows) + 6
        widths = [
            max(len(c), *(len(text) for (_, _, column), text in cells.items() if column == c))
            for c in columns
        ]
        head = (
            " " * first
            + "  |  "
            + "  |  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True))
        )
        bar = f"[{f' {label} '.center(max(len(head) - 2, len(label) + 2), '-')}]"
        lines = [bar, head]
        for count in threads:
            lines.append(f"{count} threads: ".ljust(len(head), "-"))
            for row in rows:
                texts = [cells.get((count, row, c), "") for c in columns]
                if any(texts):
                    best = min((float(text) for text in texts if text), default=0.0)
                    shown = [
                        f"\033[92m{text.rjust(w)}\033[0m"
                        if self._highlight and text and float(text) == best
                        else text.rjust(w)
                        for text, w in zip(texts, widths, strict=True)
                    ]
                    lines.append(f"      {row}".ljust(first) + "  |  " + "  |  ".join(shown))
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit}).", ""]
        return "\n".join(lines)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        results = list(results)
        for m in results:
            if not isinstance(m, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(m)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Print no more digits than the spread leaves."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Print the best time of each row in green."""
        self._highlight = True

    def highlight_warnings(self) -> None:
        """Measurements with a large spread keep one digit."""
        self._trim = True

    def print(self) -> None:
        """Print the table."""
        print(self)
