"""Forward and backward of a function as two graphs (`torch._functorch.aot_autograd`)."""

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
