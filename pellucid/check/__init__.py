"""`pellucid check` finds bugs in a training script by observing its run, on Pellucid or on PyTorch."""

from __future__ import annotations

import builtins
import functools
import io
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..interop import as_torch
from . import callbacks as callbacks
from .config import Settings, read_settings
from .recording import instrument, sites
from .recording.recorder import StopRun
from .result import CheckResult
from .rule import CheckError, Finding, Rule, all_rules
from .session import Session

__all__ = [
    "CheckError",
    "CheckResult",
    "Finding",
    "Rule",
    "Settings",
    "all_rules",
    "check_script",
    "ignoring",
    "read_settings",
    "watching",
]


def check_script(
    path: str,
    args: Sequence[str] = (),
    *,
    engine: str = "pellucid",
    settings: Settings | None = None,
    max_steps: int | None = None,
    measures: bool = False,
    every_step: bool = False,
) -> CheckResult:
    """Check a PyTorch script in this process and return what was found. If the script raises, the exception is in `failure`.

    With `engine="pellucid"`, `import torch` means Pellucid in this process from then on (`interop.as_torch`).

    Args:
        path: the script; it runs as `__main__`.
        args: its command-line arguments.
        engine: "pellucid", or "torch" for the installed PyTorch.
        settings: rules and severities. Default: those of the nearest pyproject.toml and of
            `PELLUCID_CHECK`.
        max_steps: end the script after this many optimizer steps.
        measures: also collect losses, gradient norms, time and memory (`CheckResult.measures`).
        every_step: record every step, also those that only repeat earlier ones.

        result = check_script("train.py", ["--epochs", "1"], max_steps=50)
        print(result)
    """
    if engine == "pellucid":
        as_torch()
    session = Session(
        engine,
        settings or read_settings(path),
        os.path.abspath(path),
        max_steps,
        measures,
        every_step=every_step,
    )
    argv, before = sys.argv[:], sys.modules.get("__main__")
    sys.argv[:] = [path, *args]
    failure: BaseException | None = None
    session.start()
    try:
        module = types.ModuleType("__main__")
        module.__dict__.update(
            __builtins__=builtins, __file__=os.path.abspath(path), __cached__=None
        )
        sys.modules["__main__"] = module
        with io.open_code(os.path.abspath(path)) as file:
            code = instrument.compiled(file.read(), os.path.abspath(path))
        exec(code, module.__dict__)
    except StopRun:
        pass
    except SystemExit as stop:
        failure = stop if stop.code not in (None, 0) else None
    except Exception as error:
        failure = error
    finally:
        result = session.finish(failure)
        sys.argv[:] = argv
        if before is not None:
            sys.modules["__main__"] = before
    return result


class watching:  # noqa: N801 (used like a function)
    """Context manager and decorator: check what happens inside; `with watching() as result:` fills
    `result` at the end.

    As a decorator it prints the findings of every call to the standard error stream. With
    `raising=True` a finding of severity error raises CheckError where it is found, or at the end of
    the block.

    >>> import pellucid as torch
    >>> from pellucid.check import watching
    >>> with watching() as result:
    ...     p, y = torch.zeros(4, 1), torch.zeros(4)
    ...     loss = ((p - y) ** 2).mean()
    >>> [finding.name for finding in result.findings]
    ['mutual-broadcast']
    """

    def __init__(
        self,
        *,
        engine: str = "pellucid",
        settings: Settings | None = None,
        measures: bool = False,
        raising: bool = False,
    ) -> None:
        self._options = (engine, settings, measures, raising)
        self._runs: list[tuple[Session, CheckResult]] = []

    def __enter__(self) -> CheckResult:
        engine, settings, measures, raising = self._options
        session = Session(engine, settings or read_settings(), measures=measures, raising=raising)
        result = CheckResult(engine=engine)
        self._runs.append((session, result))
        session.start()
        return result

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        session, result = self._runs.pop()
        finished = session.finish(error)
        for name in CheckResult.__slots__:
            setattr(result, name, getattr(finished, name))
        if session.raising and error is None and result.errors:
            raise CheckError(result.errors[0])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self as result:
                value = function(*args, **kwargs)
            if result.findings:
                print(result, file=sys.stderr)
            return value

        return watched


class ignoring:  # noqa: N801
    """Context manager and decorator: findings of these rules (all, when none is named) at lines
    that run inside are left out.

    Without a check that watches it does nothing, so it may stand in a program for good.

    >>> import pellucid as torch
    >>> from pellucid.check import ignoring, watching
    >>> with watching() as result:
    ...     with ignoring("mutual-broadcast"):
    ...         gaps = torch.zeros(4, 1) - torch.zeros(4)
    >>> result.findings
    []
    """

    def __init__(self, *rules: str) -> None:
        self._rules = rules or ("ALL",)

    def __enter__(self) -> None:
        sites.ignoring.append(self._rules)

    def __exit__(self, *exc: object) -> None:
        sites.ignoring.remove(self._rules)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def quietly(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return quietly
