"""Every environment variable that Pellucid reads, and the flags made from them.

The variables are read once, when this module is imported. Each becomes a module attribute with the
same name in small letters, without the prefix: `PELLUCID_KERNELS` is `config.kernels`. Code reads
it as `config.kernels` each time, so that it can be changed while a program runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PREFIX = "PELLUCID_"


class Variable(NamedTuple):
    """An environment variable: how its text is read, what it is without it, and what it does."""

    parse: Callable[[str], Any]
    default: Callable[[], Any]
    doc: str


def _switch(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise ValueError("1 or 0")


def _count(text: str) -> int:
    number = int(text) if text.strip().isdecimal() else 0
    if number < 1:
        raise ValueError("a positive whole number")
    return number


def _megabytes(text: str) -> int:
    if not text.strip().isdecimal() or int(text) > 1024:
        raise ValueError("a whole number of megabytes, up to 1024")
    return int(text)


def _directory(text: str) -> Path:
    if not text.strip():
        raise ValueError("the path of a folder")
    return Path(text).expanduser()


def _default_cache_dir() -> Path:
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "pellucid"


def _default_num_threads() -> int:
    # OMP_NUM_THREADS is what PyTorch and most numerical programs obey.
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if text.isdecimal() and int(text) > 0:
        return int(text)
    # Linux: the cores that this process may use, not those of the machine
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, (name.strip() for name in text.split(","))))


VARIABLES: dict[str, Variable] = {
    "cache_dir": Variable(
        _directory,
        _default_cache_dir,
        "Folder for compiled kernels and measurements of this machine. Default: pellucid in the user's cache folder.",
    ),
    "cache": Variable(
        _switch,
        lambda: True,
        "0 keeps compiled kernels in memory only; nothing is read from or written to disk.",
    ),
    "num_threads": Variable(
        _count,
        _default_num_threads,
        "Threads for one operation, of kernels and of BLAS. Default: OMP_NUM_THREADS, else the cores that the process may use.",
    ),
    "keep_memory": Variable(
        _megabytes,
        lambda: 128,
        "Megabytes of freed memory that the C library keeps for the next arrays (GNU/Linux); 0 leaves its settings alone.",
    ),
    "kernels": Variable(
        _switch,
        lambda: True,
        "0 switches generated kernels off: NumPy alone computes (slower; for finding faults).",
    ),
    "winograd": Variable(
        _switch,
        lambda: True,
        "0 computes 3x3 convolutions by their definition, not by Winograd's method (slower, with about half the rounding error).",
    ),
    "sources": Variable(
        _switch,
        lambda: True,
        "0 stops recording which source line made each tensor (errors and drawings then say less).",
    ),
    "verify": Variable(
        _switch,
        lambda: False,
        "1 verifies the programs of compiled functions after each pass of the compiler (slower; for finding faults of the compiler).",
    ),
    "contracts": Variable(
        _switch,
        lambda: True,
        "0 switches off the checks of functions decorated with debug.shapes.",
    ),
    "progress": Variable(
        _switch,
        lambda: True,
        "0 silences the bars of data.progress.",
    ),
    "logs": Variable(
        _names,
        lambda: _names(os.environ.get("TORCH_LOGS", "")),
        "What compiled functions tell on stderr: recompiles, graph_breaks. Default: TORCH_LOGS.",
    ),
}

cache_dir: Path
cache: bool
num_threads: int
keep_memory: int
kernels: bool
winograd: bool
sources: bool
verify: bool
contracts: bool
progress: bool
logs: frozenset[str]


def read_environment(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The value of every flag under the variables in `environ`.

    Raises:
        ValueError: a variable has a text that cannot be read; the message names the variable.
    """
    values = {}
    for name, variable in VARIABLES.items():
        text = environ.get(PREFIX + name.upper())
        if text is None:
            values[name] = variable.default()
            continue
        try:
            values[name] = variable.parse(text)
        except ValueError as error:
            raise ValueError(f"{PREFIX}{name.upper()}={text!r}: expected {error}") from None
    return values


@contextmanager
def override(**flags: Any) -> Iterator[None]:
    """Change flags inside a `with` block, for all threads.

    Raises:
        ValueError: a name is not a flag.

    Example:
        >>> from pellucid import config
        >>> with config.override(kernels=False):
        ...     config.kernels
        False
    """
    unknown = sorted(set(flags) - set(VARIABLES))
    if unknown:
        raise ValueError(f"no such flag: {', '.join(unknown)} (there are {', '.join(VARIABLES)})")
    here = globals()
    before = {name: here[name] for name in flags}
    here.update(flags)
    try:
        yield
    finally:
        here.update(before)


def describe() -> str:
    """A table of all flags with their present values, one on a line, as text."""
    here = globals()
    return "\n".join(
        f"{PREFIX + name.upper()} = {here[name]}\n    {v.doc}" for name, v in VARIABLES.items()
    )


globals().update(read_environment())
