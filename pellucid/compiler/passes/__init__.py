"""The passes that improve programs, in order.

A pass takes a program and a context and returns a new program. It must not change its input. With
`config.verify` (PELLUCID_VERIFY=1), the program is verified after each pass; `explain(passes=True)`
shows the program after each pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import config
from ...ir import Program
from .communication import start_early, update_by_bucket
from .context import Context, Pass
from .copy_elision import elide_copies
from .expand import expand_formulas
from .fuse import call_each, fuse_loops
from .memory import reorder_items
from .recompute import recompute_cheap

PASSES: tuple[Pass, ...] = (
    expand_formulas,
    recompute_cheap,
    elide_copies,
    start_early,
    update_by_bucket,
    fuse_loops,
    reorder_items,
)
WITHOUT_CODE: tuple[Pass, ...] = (call_each,)  # for machines without native code


def run_passes(program: Program, context: Context, passes: Sequence[Pass] = PASSES) -> Program:
    """Apply passes to a program. The result's instructions are grouped into items.

    Raises:
        VerificationError: a pass made a program that reads a value before it is computed, and
            `config.verify` is on.
    """
    for each in passes:
        program = each(program, context)
        if config.verify:
            program.verify()
        if context.after is not None:
            context.after(each.__name__, program)
    return program
