"""The interface of passes: a pass is a function from a program and a context to a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ir import Instruction, Program, Value


@dataclass(slots=True)
class Context:
    """What passes may query besides the program.

    `number_of(value)` is the number if `value` is a constant of one element (possibly expanded),
    otherwise None. `lower(instruction)` returns native code for an instruction that is neither a
    loop nor a product (a `Native` or a `GroupUpdate`), or a text with the reason why there is none.
    `after(name, program)` is called after each pass.
    """

    number_of: Callable[[Value], Any]
    lower: Callable[[Instruction], Any]
    after: Callable[[str, Program], None] | None = None


Pass = Callable[[Program, Context], Program]
