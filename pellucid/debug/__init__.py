"""Seeing what a program does: assertions and contracts on shapes, drawings of graphs, explanations, summaries."""

from .contracts import (
    Bool,
    Complex,
    Float,
    Int,
    Shaped,
    contracts_enabled,
    enable_contracts,
    expect_close,
    expect_shape,
    shape_str,
    shapes,
)

__all__ = [
    "Bool", "Complex", "Float", "Int", "Shaped", "contracts_enabled", "enable_contracts", "expect_close", "expect_shape", "shape_str",
    "shapes",
]  # fmt: skip
