"""Compiled modules and functions, where libraries look for them."""

from __future__ import annotations

from typing import Any

from ..compiler import OptimizedModule

__all__ = ["OptimizedModule", "innermost_fn", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """True: `torch.compile` is there."""
    return True


def innermost_fn(fn: Any, unaltered_fn_attr: str = "_torchdynamo_orig_callable") -> Any:
    """What was compiled, below any number of `torch.compile`; a function that was not, as it is.

    >>> import pellucid as torch
    >>> def double(x):
    ...     return 2 * x
    >>> innermost_fn(torch.compile(torch.compile(double))) is double, innermost_fn(double) is double
    (True, True)
    """
    while hasattr(fn, unaltered_fn_attr):
        fn = getattr(fn, unaltered_fn_attr)
        assert callable(fn)
    return fn
