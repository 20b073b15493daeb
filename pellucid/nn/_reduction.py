"""Reductions of losses by number and by PyTorch's two old flags (`torch.nn._reduction`), for losses
written elsewhere.
"""

from __future__ import annotations

from ..ops.nn.loss._reduction import checked, of_flags

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction in `torch.ops.aten`: "none" is 0, "mean" 1, "sum" 2.

    Raises:
        ValueError: another word.
    """
    return _NUMBERS[checked(reduction)]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that the two old flags stand for; None is True."""
    return of_flags(size_average, reduce, emit_warning)


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the reduction that the two old flags stand for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
