"""What a pass is: a function of a program and a context that returns a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ir import Instruction, Program, Value


@dataclass(slots=True)
class Context:
    """What passes may ask besides the program.

    `number_of(value)` is the number that a constant of one element holds, repeated or not, None for
    all other values. `lower(instruction)` is native code for an instruction that is no loop and no
    product (a `Native` or an `GroupUpdate`), or the reason, a text, why there is none.
    `after(name, program)` is called after each pass.
    """

    number_of: Callable[[Value], Any]
    lower: Callable[[Instruction], Any]
    after: Callable[[str, Program], None] | None = None


Pass = Callable[[Program, Context], Program]
