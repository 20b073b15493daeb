"""What all fuzzers share: cases are drawn from seeds, run in forked processes, made smaller when
they fail, and kept.

A fuzzer is a module of this folder with

    NEEDS_TORCH          whether PyTorch is what it compares with
    draw(random)         a case, as data that JSON can hold, from a `random.Random`
    run(case)            None, or what went wrong: "class: details". The class groups failures, so it names no numbers.
    smaller(case)        cases a little simpler than this one, the boldest first
    KNOWN                {part of a class: reason}: differences that are meant to stay

A case that kills its process or does not end is a failure of the class "crash" or "hang". So `run`
needs no protection of its own.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import importlib.util
import itertools
import json
import mmap
import os
import pickle
import pkgutil
import random
import select
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
FUZZERS = (
    "operations",
    "writes",
    "layers",
    "compiled",
    "programs",
    "sessions",
    "nested",
    "trainings",
    "transforms",
    "changes",
    "lengths",
    "files",
)
# then a fresh one: what a case leaves behind may not decide about a later one for ever
CASES_A_PROCESS = 1000
SECONDS_OF_DRAWING = 15.0  # at most, of cases for one process
# of processor time, so that a busy machine makes no hang; with what PyTorch took for the case,
# several times
SECONDS_A_CASE = 60.0
TIMES_PYTORCH = 4.0
SECONDS_OF_PYTORCH = 120.0
# not the library's: PyTorch was computing when it happened
SLOW_THERE = "no end in PyTorch"
DIED_THERE = "crash of PyTorch"
SECONDS_WITHOUT_PROGRESS = 120.0  # in which a process that waits for something does not compute


def load(name: str) -> ModuleType:
    """The fuzzer `name`, imported (once) by its path since tests are no package."""
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(HERE / f"{name}.py"):
        return known
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def imported() -> None:
    """Import what Pellucid imports when it is first used, so that not every process does it again."""
    import pellucid

    for part in ("arrays", "compiler", "kernels", "llvm", "nn", "ops", "signal", "special"):
        package = importlib.import_module(f"{pellucid.__name__}.{part}")
        for found in pkgutil.walk_packages(
            getattr(package, "__path__", ()), f"{package.__name__}."
        ):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    with contextlib.suppress(ImportError):
        importlib.import_module("scipy.special")
    # looking through the cache of object code takes half a second, once for all of them
    importlib.import_module("pellucid.llvm.cache")._written = 0


class Progress:
    """What a forked process tells the one that watches it: the number of its case, and the processor
    time that PyTorch took for it, which runs in the same process.
    """

    LAYOUT = struct.Struct("qdd")

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, self.LAYOUT.size)

    def tell(self, case: int, reference: float = 0.0, since: float = 0.0) -> None:
        """`since` is the processor time at which PyTorch began, while it computes."""
        self.memory[:] = self.LAYOUT.pack(case, reference, since)

    def read(self) -> tuple[int, float, float]:
        case, reference, since = self.LAYOUT.unpack(self.memory[:])
        return case, reference, since


_progress = Progress()


@contextlib.contextmanager
def reference() -> Iterator[None]:
    """Around what PyTorch computes in this process: its time is not this library's."""
    case, before, _ = _progress.read()
    start = time.process_time()
    _progress.tell(case, before, start)
    try:
        yield
    finally:
        _progress.tell(case, before + time.process_time() - start)


def processor_time(process: int) -> float:
    """The seconds that a process computed, or, where the system does not tell, the time of day."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return time.monotonic()
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Whether a forked process hangs: its case computes for too long, or it waits for ever."""

    def __init__(self, process: int, progress: Progress) -> None:
        self.process, self.progress = process, progress
        self.case, self.start = -1, 0.0
        self.computed, self.moved = -1.0, 0.0

    def hangs(self) -> str | None:
        """The class of the failure, if the case is over its time."""
        case, reference, since = self.progress.read()
        now = processor_time(self.process)
        if case != self.case:
            self.case, self.start = case, now
        if now - self.computed > 0.1:
            self.computed, self.moved = now, time.monotonic()
        elif time.monotonic() - self.moved > SECONDS_WITHOUT_PROGRESS:
            return "hang: waits without computing"
        if since:  # PyTorch is computing
            return SLOW_THERE if now - since > SECONDS_OF_PYTORCH else None
        if now - self.start - reference > SECONDS_A_CASE + TIMES_PYTORCH * reference:
            return "hang: no end within the time limit"
        return None


def failure_class(text: str) -> str:
    return text.split(":", 1)[0].strip()


def run_one(fuzzer: ModuleType, case: Any) -> str | None:
    """The failure of one case, in this process. An error that `run` does not expect is a failure,
    too.
    """
    try:
        return fuzzer.run(case)
    except Exception as error:
        return f"unexpected {type(error).__name__}: {error}\n{traceback.format_exc()}"


@dataclass
class Report:
    """What a run of one fuzzer did."""

    name: str
    cases: int = 0
    seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)


def isolated(
    fuzzer: ModuleType,
    cases: Iterator[tuple[int, Any]],
    found: Callable[[int, Any, str], None],
    deadline: float,
) -> int:
    """Runs (number, case) pairs in forked processes and calls `found` for each failure; returns how
    many ran.
    """
    done = 0
    exhausted = False
    while not exhausted and time.monotonic() < deadline:
        batch = []
        drawn_by = time.monotonic() + SECONDS_OF_DRAWING
        while len(batch) < CASES_A_PROCESS and (not batch or time.monotonic() < drawn_by):
            item = next(cases, None)
            if item is None:
                exhausted = True
                break
            batch.append(item)
        while batch and time.monotonic() < deadline:
            ran, death = _in_child(fuzzer, batch, found, deadline)
            done += ran
            if death is not None:
                found(*batch[ran], death)
                done += 1
                ran += 1
            elif ran < len(batch):  # the time is up
                return done
            batch = batch[ran:]
    return done


def _in_child(
    fuzzer: ModuleType,
    batch: list[tuple[int, Any]],
    found: Callable[[int, Any, str], None],
    deadline: float,
) -> tuple[int, str | None]:
    """Runs a batch in one forked process: how many cases ended, and what killed the process at the
    next one.
    """
    progress = _progress
    progress.tell(-1)
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            os.setpgid(0, 0)
            for index, (_, case) in enumerate(batch):
                progress.tell(index)
                if time.monotonic() > deadline:
                    break
                text = run_one(fuzzer, case)
                if text is not None:
                    os.write(writing, pickle.dumps((index, text[:3000])).ljust(4096, b"\0"))
            else:
                progress.tell(len(batch))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    watch, killed = Watch(child, progress), None
    with os.fdopen(reading, "rb", buffering=0) as stream:
        pending = b""
        while True:
            ready, _, _ = select.select([stream], [], [], 0.5)
            if ready:
                chunk = stream.read(65536)
                if not chunk:
                    break
                pending += chunk
                while len(pending) >= 4096:
                    index, text = pickle.loads(pending[:4096])
                    pending = pending[4096:]
                    found(*batch[index], text)
            killed = watch.hangs()
            if killed is not None:
                os.killpg(child, signal.SIGKILL)
                break
    _, status = os.waitpid(child, 0)
    ran, _, there = progress.read()
    ran = max(0, ran)
    if killed is not None:
        return ran, killed
    if there and status:
        return ran, DIED_THERE
    if os.WIFSIGNALED(status):
        return ran, f"crash: {signal.Signals(os.WTERMSIG(status)).name}"
    if os.WEXITSTATUS(status):
        return ran, f"crash: exit code {os.WEXITSTATUS(status)}"
    return ran, None


def shrink(fuzzer: ModuleType, case: Any, text: str, seconds: float = 60.0) -> tuple[Any, str]:
    """The smallest case found that fails in the same way, with its failure."""
    deadline = time.monotonic() + seconds
    candidates, position, progress = fuzzer.smaller(case), 0, False
    while time.monotonic() < deadline:
        candidate = next(candidates, None)
        if candidate is None:
            if not progress:
                break
            candidates, position, progress = fuzzer.smaller(case), 0, False
            continue
        failures: list[str] = []
        isolated(
            fuzzer,
            iter([(0, candidate)]),
            lambda _n, _c, t, failures=failures: failures.append(t),
            deadline,
        )
        if failures and failure_class(failures[0]) == failure_class(text):
            case, text, progress = candidate, failures[0], True
            # what did not help before seldom helps now
            candidates = itertools.islice(fuzzer.smaller(case), position, None)
        else:
            position += 1
    return case, text


def reason(fuzzer: ModuleType, text: str) -> str | None:
    """Why this failure is meant to stay, if it is."""
    if text in (SLOW_THERE, DIED_THERE):
        return f"{text}, with the same case"
    return next((why for part, why in fuzzer.KNOWN.items() if part in failure_class(text)), None)


def fuzz(
    name: str, seconds: float, seed: int, folder: Path, limit: int | None = None, examples: int = 3
) -> Report:
    """Runs a fuzzer for a time or a number of cases; the first `examples` failures of each class
    are shrunk and stored in `folder`.
    """
    fuzzer = load(name)
    imported()
    report = Report(name)
    start = time.monotonic()
    kept: list[tuple[Any, str]] = []

    def cases() -> Iterator[tuple[int, Any]]:
        number = seed
        while limit is None or number < seed + limit:
            yield number, fuzzer.draw(random.Random(f"{name} {number}"))
            number += 1

    def found(number: int, case: Any, text: str) -> None:
        why = reason(fuzzer, text)
        if why is not None:
            report.known[why] += 1
            return
        group = failure_class(text)
        report.failures[group] += 1
        if report.failures[group] <= examples:
            print(f"[{name} {number}] {text.splitlines()[0][:300]}", flush=True)
            kept.append((case, text))

    gc.collect()
    # what is loaded is no garbage: the forked processes need not copy it to find that out
    gc.freeze()
    report.cases = isolated(fuzzer, cases(), found, start + seconds)
    report.seconds = time.monotonic() - start
    # for all of them: many failures are looked at one by one anyway
    until = time.monotonic() + max(60.0, report.seconds)
    for case, text in kept:
        case, text = shrink(fuzzer, case, text, min(60.0, until - time.monotonic()))
        report.files.append(store(folder / name, case, text))
    return report


def store(folder: Path, case: Any, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    # where this checkout lies is nobody else's business
    text = text.replace(f"{HERE.parents[1]}{os.sep}", "")
    content = json.dumps({"case": case, "failure": text}, indent=1)
    group = "".join(c if c.isalnum() else "-" for c in failure_class(text))[:40].strip("-")
    path = (
        folder
        / f"{group}-{hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:10]}.json"
    )
    path.write_text(content + "\n", encoding="utf-8")
    return path


def corpus(name: str) -> list[Path]:
    """Every case that ever failed, which must not fail again."""
    return sorted((CORPUS / name).glob("*.json"))


def replay(fuzzer: ModuleType, path: Path) -> str | None:
    """What goes wrong with a stored case now, in a process of its own."""
    failures: list[str] = []
    case = json.loads(path.read_text(encoding="utf-8"))["case"]
    isolated(
        fuzzer,
        iter([(0, case)]),
        lambda _n, _c, text: failures.append(text),
        time.monotonic() + SECONDS_A_CASE * 2,
    )
    return next((text for text in failures if reason(fuzzer, text) is None), None)
