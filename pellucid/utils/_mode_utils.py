"""Helpers of modes (`torch.utils._mode_utils`)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from ..aten import dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Iterable[Any]) -> bool:
    """Whether several modes are one."""
    known = list(modes)
    return all(mode is known[0] for mode in known)


def no_dispatch() -> AbstractContextManager[None]:
    """A block in which no mode that handles operators is active."""
    return dispatch.only(())
