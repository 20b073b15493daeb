"""Pellucid in IPython and Jupyter: `%%check`, `%explain`, short tracebacks, and a watch that lets
`explain` look back.

    %load_ext pellucid

`begin` is called when Pellucid is imported in an interactive session (Jupyter, IPython or the
Python prompt). It starts a watch with a budget: it covers what you try out at a prompt, and a long
training loop soon runs at full speed again. `PELLUCID_WATCH=0` in the environment turns it off.
`debug.watch()` starts one without a budget.
"""

from __future__ import annotations

import ast
import builtins
import os
import shlex
import sys
from types import TracebackType
from typing import Any

from ..core.display import notebook as display
from ..debug.watching import Watch, current, watch
from ..errors import explained
from .run import own_frames
from .uncaught import with_hint

BUDGET = 20_000  # operations; noting that many takes about half a second


class _Budget(Watch):
    """Notes that end by themselves after so many operations; what was noted stays known."""

    def __init__(self, operations: int) -> None:
        super().__init__()
        self.left = operations

    def operation(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        super().operation(op, inputs, params, outputs)
        self.left -= 1
        if self.left <= 0:
            self.stop()


def begin() -> None:
    """Set up an interactive session: the watch, and under IPython the magics and the tracebacks."""
    shell = getattr(builtins, "get_ipython", lambda: None)()
    if shell is not None:
        load_ipython_extension(shell)
    elif os.environ.get("PELLUCID_WATCH", "1") != "0" and current() is None:
        watch(notes=_Budget(BUDGET))


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext pellucid` does; a second call changes nothing."""
    if getattr(shell, "_pellucid_loaded", False):
        return
    shell._pellucid_loaded = True
    shell.register_magic_function(lambda line, cell: check_cell(shell, line, cell), "cell", "check")
    shell.register_magic_function(
        lambda line, cell=None: explain_value(shell, line, cell), "line_cell", "explain"
    )
    shell.set_custom_exc((Exception,), _show)
    display.cell_name = getattr(shell.compile, "format_code_name", None)
    if os.environ.get("PELLUCID_WATCH", "1") != "0" and current() is None:
        watch(notes=_Budget(BUDGET))


def check_cell(shell: Any, line: str, cell: str) -> Any:
    """`%%check [--engine torch] [--select RULES] [--ignore RULES]`: run the cell and report the
    bugs that it shows.
    """
    import argparse

    from ..check import Settings, watching
    from ..check.callbacks import engine_here

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> Any:
            raise _usage(f"%%check: {message}")

    parser = Parser(prog="%%check", add_help=False)
    parser.add_argument("--engine", choices=("pellucid", "torch"), default=engine_here())
    parser.add_argument("--select")
    parser.add_argument("--ignore")
    options = parser.parse_args(shlex.split(line))
    settings = Settings()
    for name in ("select", "ignore"):
        if getattr(options, name):
            setattr(settings, name, tuple(getattr(options, name).split(",")))
    with watching(engine=options.engine, settings=settings) as result:
        _run(shell, "check", cell)
    return result


def _run(shell: Any, magic: str, cell: str) -> None:
    """Run the rest of a cell under the number and the lines that the notebook shows."""
    # some versions of IPython have counted on by now, others count after the cell
    count = shell.execution_count
    shell.execution_count = len(shell.user_ns.get("In", ())) - 1 or count
    try:
        shell.run_cell(f"# %%{magic}\n{cell}")
    finally:
        shell.execution_count = count


def _usage(message: str) -> Exception:
    """IPython's error for a wrong use, which it shows without a traceback."""
    kind = getattr(sys.modules.get("IPython.core.error"), "UsageError", ValueError)
    return kind(message)


def explain_value(shell: Any, line: str, cell: str | None = None) -> Any:
    """`%explain EXPR [QUESTION]` explains a value of the notebook, `%explain` alone the last
    exception; `%%explain EXPR` runs the cell first.

    EXPR may be the gradient itself, `w.grad`: None has no history, but `w` has.
    """
    from ..debug.questions.explain import QUESTIONS, explain

    if cell is not None:
        with watch():
            _run(shell, "explain", cell)
    text = line.strip()
    if not text:
        error = getattr(sys, "last_value", None)
        if error is None:
            raise _usage(
                "%explain: there is no exception; name a value, for example %explain model.weight.grad"
            )
        return explain(error)
    question = "gradient"
    words = text.rsplit(None, 1)
    if len(words) == 2 and words[1] in QUESTIONS:
        text, question = words[0], words[1]
    tree = ast.parse(text, mode="eval").body
    asked = tree.value if isinstance(tree, ast.Attribute) and tree.attr == "grad" else tree
    value = eval(compile(ast.Expression(asked), "<%explain>", "eval"), shell.user_ns)
    return explain(value, question, name=ast.unparse(asked))


def _show(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    frames: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show an exception; of one that Pellucid explains, the frames inside the library are left out."""
    if explained(with_hint(error)):
        frames = own_frames(frames) or frames
        error.__traceback__ = frames
    shell.showtraceback((kind, error, frames), tb_offset=tb_offset)
