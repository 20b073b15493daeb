"""`functorch.compile`: forward and backward graphs for compilers of a program's own."""

from __future__ import annotations

from ..compiler.ahead import (
    aot_function,
    aot_module,
    aot_module_simplified,
    default_partition,
    make_boxed_compiler,
    make_boxed_func,
    min_cut_rematerialization_partition,
    nop,
)

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "default_partition",
    "make_boxed_compiler",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
]
