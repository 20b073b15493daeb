"""What `run`, `check` and `explain` share on the command line: the target, its own arguments, and
limits.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """A parser that suggests the option that an unknown one was probably meant to be."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (--?[\w-]+)", message)
        if unknown is not None:
            close = difflib.get_close_matches(
                unknown[1], self._option_string_actions, n=1, cutoff=0.75
            )
            if close:
                message += f"; did you mean {close[0]}?"
            elif any(action.dest == "script" for action in self._actions):
                message += "; the script's own options come after the script"
        super().error(message)


def meant(path: str) -> str:
    """What to add to the message that a script cannot be found: a file with a similar name."""
    folder, name = os.path.split(path)
    try:
        there = os.listdir(folder or ".")
    except OSError:
        return ""
    close = difflib.get_close_matches(
        name, [file for file in there if file.endswith((".py", ".ipynb"))], n=1
    )
    return f"; did you mean {os.path.join(folder, close[0])}?" if close else ""


def add_common(parser: argparse.ArgumentParser, verb: str) -> None:
    """The options that all three take."""
    parser.add_argument(
        "script",
        metavar="SCRIPT",
        nargs="?",
        help=f"the script or notebook (.ipynb) to {verb}; - reads standard input",
    )
    parser.add_argument(
        "-m", metavar="MODULE", dest="module", help=f"{verb} a module, found as by `python -m`"
    )
    parser.add_argument("-c", metavar="CODE", dest="code", help=f"{verb} the code given as text")
    parser.add_argument(
        "--max-steps",
        "--steps",
        metavar="N",
        type=int,
        help="end the script after N optimizer steps",
    )
    parser.add_argument("--quiet", action="store_true", help="hide the script's own output")


def split(
    parser: argparse.ArgumentParser, argv: Sequence[str], anywhere: bool = False
) -> tuple[list[str], list[str]]:
    """Our own part of a command line, and the script's: all that follows SCRIPT, `-m MODULE` or
    `-c CODE`.

    With `anywhere`, options of ours are ours behind the script, too, up to a `--`.
    """
    takes = {
        flag: action.nargs != 0 for action in parser._actions for flag in action.option_strings
    }
    own: list[str] = []
    k = 0
    while k < len(argv):
        word = argv[k]
        if word == "-" or not word.startswith("-"):
            own.append(word)
            k += 1
            break
        size = 2 if takes.get(word, False) else 1
        own += argv[k : k + size]
        k += size
        if word in ("-m", "-c"):
            break
    if not anywhere:
        return own, list(argv[k:])
    rest: list[str] = []
    while k < len(argv):
        word = argv[k]
        if word == "--":
            return own, rest + list(argv[k + 1 :])
        if word.startswith("--") and word.partition("=")[0] in takes and word != "--help":
            size = 2 if takes[word.partition("=")[0]] and "=" not in word else 1
            own += argv[k : k + size]
            k += size
        else:
            rest.append(word)
            k += 1
    return own, rest


def target(options: Any, parser: argparse.ArgumentParser) -> tuple[str, str]:
    """(kind, name) of what is run, as `run.load` takes them."""
    given = [
        (kind, getattr(options, kind))
        for kind in ("module", "code", "script")
        if getattr(options, kind) is not None
    ]
    if len(given) != 1:
        parser.error("give a script, -m and a module, or -c and code")
    if options.max_steps is not None and options.max_steps < 1:
        parser.error("--max-steps must be at least 1")
    return given[0]


class Enough(BaseException):
    """Ends the script after the steps asked for."""


class _Counter:
    """Stops the script when its optimizers have made so many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def optimizer_step(self, optimizer: Any) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Enough


def stopping_after(steps: int | None) -> Any:
    """A block that `Enough` ends after so many steps of Pellucid's optimizers; None: never."""
    from pellucid.core import observe

    return observe.observing(_Counter(steps)) if steps else nullcontext()


def silencing(quiet: bool) -> Any:
    """A block in which nothing is printed, when that was asked for."""
    return _silenced() if quiet else nullcontext()


@contextmanager
def _silenced() -> Iterator[None]:
    """Send the standard output and the errors of the script to nowhere, those of its subprocesses
    and libraries as well.
    """
    flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = [(number, os.dup(number)) for number in (1, 2)]
    streams = sys.stdout, sys.stderr
    try:
        with open(os.devnull, "w") as sink:
            sys.stdout = sys.stderr = sink
            for number, _ in kept:
                os.dup2(nowhere, number)
            yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)
        sys.stdout, sys.stderr = streams


def flush() -> None:
    """Empty both streams."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
