"""What a lowering gives: code for a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Native:
    """`emit(schedule)` adds the calls; bytes and operations are for the roofline."""

    emit: Callable[[Any], None]
    title: str
    bytes: int = 0
    flops: int = 0
