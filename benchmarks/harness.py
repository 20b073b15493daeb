"""Side-by-side timing of Pellucid and PyTorch in one process, reported as ratios.

A benchmark file builds a :class:`Suite`, registers cases, and calls :meth:`Suite.main`::

    import harness  # first: it fixes the thread counts before NumPy and PyTorch are loaded

    suite = harness.Suite("eager operations")

    @suite.case("x*w, 3 elements", target=1.0)
    def multiply(lib):  # called once with each library, returns what is timed
        x = lib.tensor([1.0, 2.0, 3.0])
        w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        return lambda: x * w

    if __name__ == "__main__":
        suite.main()

Absolute times on a shared machine move by tens of percent from minute to minute; ratios taken in
interleaved rounds move by a few. So each round times both sides back to back (in alternating
order), gives one ratio, and the median of the rounds' ratios is the result. Below 1.0 Pellucid is
the faster one.
"""

from __future__ import annotations

import os

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PELLUCID_NUM_THREADS",
)
for _variable in _THREAD_VARIABLES:
    os.environ.setdefault(_variable, "1")

import argparse  # noqa: E402  (the thread counts are read when NumPy and PyTorch are first imported)
import gc  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import platform  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Iterable, Sequence  # noqa: E402
from dataclasses import asdict, dataclass, field  # noqa: E402
from importlib import metadata  # noqa: E402
from pathlib import Path  # noqa: E402
from time import perf_counter, process_time  # noqa: E402
from types import ModuleType  # noqa: E402
from typing import Any  # noqa: E402

Work = Callable[[], object]
Make = Callable[[ModuleType], Work]

# one side of one round; long enough that the clock and a stray interrupt do not matter
ROUND_SECONDS = 0.05
WARM_UP_SECONDS = 0.1  # caches, generated kernels and the processor's clock settle


_own_time = False  # count the process's own time on the processor, instead of the time that passes


@dataclass(frozen=True)
class Result:
    """One comparison: median seconds per call of each side, and the median ratio of the rounds.

    ``ratio`` is ours/theirs; ``low`` and ``high`` are its quartiles. ``theirs`` and the ratios are
    None when the other library was not there.
    """

    name: str
    ours: float
    theirs: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    target: float | None = None
    rounds: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the ratio is within its target; None where there is no target or no ratio."""
        return None if self.target is None or self.ratio is None else self.ratio <= self.target


def pin(core: int | None = None) -> int | None:
    """Keep this process on one core and return its number, or None where the system cannot do that.

    Without ``core`` the last core the process may use is taken: the first ones serve most
    interrupts.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[-1] if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen


def _seconds(work: Work, calls: int) -> float:
    repeat = range(calls)
    clock = process_time if _own_time else perf_counter
    start = clock()
    for _ in repeat:
        work()
    return clock() - start


def _calls_per_round(work: Work, seconds: float) -> int:
    """How many calls fill ``seconds``, after warming up."""
    calls, spent = 1, 0.0
    while True:
        took = _seconds(work, calls)
        spent += took
        if took >= seconds / 4 and spent >= WARM_UP_SECONDS:
            return max(1, round(calls * seconds / took))
        if took < seconds / 4:
            calls *= 2


def compare(
    name: str,
    ours: Work,
    theirs: Work | None = None,
    *,
    rounds: int = 9,
    seconds: float = ROUND_SECONDS,
    target: float | None = None,
) -> Result:
    """Time two callables in interleaved rounds and return the median ratio of ours to theirs.

    Each is called without arguments, often enough to fill ``seconds`` per round. The garbage
    collector is off while the clock runs, as in ``timeit``.
    """
    ours_calls = _calls_per_round(ours, seconds)
    theirs_calls = _calls_per_round(theirs, seconds) if theirs is not None else 0
    ours_times: list[float] = []
    theirs_times: list[float] = []
    collecting = gc.isenabled()
    try:
        for index in range(rounds):
            gc.collect()
            gc.disable()
            sides = [(ours, ours_calls, ours_times)]
            if theirs is not None:
                sides.append((theirs, theirs_calls, theirs_times))
            if index % 2:
                sides.reverse()
            for work, calls, times in sides:
                times.append(_seconds(work, calls) / calls)
            gc.enable()
    finally:
        if collecting:
            gc.enable()
        else:
            gc.disable()
    if theirs is None:
        return Result(name, statistics.median(ours_times), target=target, rounds=rounds)
    ratios = [a / b for a, b in zip(ours_times, theirs_times, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
    return Result(
        name,
        statistics.median(ours_times),
        statistics.median(theirs_times),
        middle,
        low,
        high,
        target,
        rounds,
    )


def _first_line(path: str, key: str) -> str | None:
    try:
        for line in Path(path).read_text(errors="replace").splitlines():
            if line.startswith(key):
                return line.partition(":")[2].strip()
    except OSError:
        return None
    return None


def machine() -> dict[str, Any]:
    """Describe where the numbers come from: processor, cores, threads, system, versions."""
    versions = {}
    for package in ("pellucid", "numpy", "scipy", "llvmlite", "torch"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": _first_line("/proc/cpuinfo", "model name")
        or platform.processor()
        or platform.machine(),
        "cores": os.cpu_count(),
        "pinned_to": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "threads": {name: os.environ.get(name) for name in _THREAD_VARIABLES},
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
    }


def human_time(seconds: float) -> str:
    """Give a duration with three digits and a readable unit."""
    for limit, factor, unit in (
        (1e-6, 1e9, "ns"),
        (1e-3, 1e6, "us"),
        (1.0, 1e3, "ms"),
        (math.inf, 1.0, "s"),
    ):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    raise ValueError(f"not a duration: {seconds!r}")


def table(results: Iterable[Result]) -> str:
    """Lay the results out as text, one line each."""
    rows = [("case", "pellucid", "torch", "ratio", "quartiles", "target", "")]
    for r in results:
        rows.append(
            (
                r.name,
                human_time(r.ours),
                "-" if r.theirs is None else human_time(r.theirs),
                "-" if r.ratio is None else f"{r.ratio:.2f}",
                "-" if r.low is None or r.high is None else f"{r.low:.2f}-{r.high:.2f}",
                "-" if r.target is None else f"{r.target:.2f}",
                {None: "", True: "met", False: "MISSED"}[r.met],
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *middle, last in rows:
        cells = [first.ljust(widths[0]), *map(str.rjust, middle, widths[1:-1]), last]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def libraries() -> tuple[ModuleType, ModuleType | None]:
    """Import Pellucid and, where it is installed, PyTorch, both limited to the threads asked for."""
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    ours = importlib.import_module("pellucid")
    try:
        theirs = importlib.import_module("torch")
    except ImportError:
        return ours, None
    theirs.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    return ours, theirs


class Suite:
    """A named list of cases, run by :meth:`main` from the command line or by :meth:`run` from
    another program.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.cases: list[tuple[str, Make, Make, float | None]] = []

    def case(
        self, name: str, *, target: float | None = None, theirs: Make | None = None
    ) -> Callable[[Make], Make]:
        """Register a function that is given a library and returns the callable to time.

        ``theirs`` replaces it on PyTorch's side, for the few cases where the two are not written
        alike.
        """

        def register(make: Make) -> Make:
            self.cases.append((name, make, theirs or make, target))
            return make

        return register

    def run(
        self, *, only: str = "", rounds: int = 9, seconds: float = ROUND_SECONDS
    ) -> list[Result]:
        """Run the cases whose name contains ``only`` and return their results in order."""
        ours, theirs = libraries()
        results = []
        for name, make, make_theirs, target in self.cases:
            if only not in name:
                continue
            mine = make(ours)
            other = make_theirs(theirs) if theirs is not None else None
            results.append(
                compare(name, mine, other, rounds=rounds, seconds=seconds, target=target)
            )
            print(f"  {name}: done", file=sys.stderr, flush=True)
        return results

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Read the command line, run, print the table, and write JSON where asked. Returns 0."""
        parser = argparse.ArgumentParser(
            description=f"Compare Pellucid with PyTorch: {self.title}."
        )
        parser.add_argument(
            "--only", default="", metavar="TEXT", help="run the cases whose name contains TEXT"
        )
        parser.add_argument(
            "--rounds", type=int, default=9, help="interleaved rounds per case (default 9)"
        )
        parser.add_argument(
            "--seconds", type=float, default=ROUND_SECONDS, help="length of one side of a round"
        )
        parser.add_argument(
            "--core", type=int, help="core to stay on (default: the last one allowed)"
        )
        parser.add_argument(
            "--no-pin", action="store_true", help="let the system move the process between cores"
        )
        parser.add_argument(
            "--json",
            metavar="FILE",
            help="also write the results and the machine's description there",
        )
        parser.add_argument(
            "--processor-time",
            action="store_true",
            help="count the process's own time, on a machine that others use, too",
        )
        args = parser.parse_args(argv)
        if args.processor_time:
            global _own_time
            _own_time = True
        if not args.no_pin:
            pin(args.core)
        results = self.run(only=args.only, rounds=args.rounds, seconds=args.seconds)
        where = machine()
        print(
            f"{self.title}: {where['processor']}, cores used {where['pinned_to']}, Python {where['python']}"
        )
        print(", ".join(f"{name} {version}" for name, version in where["versions"].items()))
        print(table(results))
        if args.json:
            report = {
                "title": self.title,
                "machine": where,
                "results": [asdict(r) for r in results],
            }
            Path(args.json).write_text(json.dumps(report, indent=2) + "\n")
        return 0
