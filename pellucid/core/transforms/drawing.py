"""Random numbers inside of `vmap`: whether the samples of a batch share them.

A function that draws asks `running()` while `draw_guards` is not empty, and hands its call to one
of the rules below. "error" refuses; "different" draws for all samples in one call with the batch in
front, so that the numbers are those of that call outside of `vmap`; "same" draws for one sample,
and refuses where the parameters of the distribution differ from sample to sample. A rule runs its
function outside of the level that it serves: further levels have their say in there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import OperationError
from ..bind import wrap
from ..inplace import overwrite
from ..primitive import TENSORS as F
from ..streams.generator import draw_guards
from ..tensor import Tensor
from .batching import (
    Level,
    aligned,
    batched,
    ensure,
    larger,
    level_of,
    levels,
    refused_draw,
    spread,
    unwrap,
)
from .capturing import check_own, innermost_maps


def running() -> Level | None:
    """The innermost `vmap` of this thread; None where there is none, or it runs sample by
    sample.
    """
    stack = levels.stack
    return stack[-1] if stack and not stack[-1].looping else None


@contextmanager
def outside(level: Level) -> Iterator[None]:
    """The block runs outside of the innermost `vmap`, which is `level`."""
    stack = levels.stack
    assert stack.pop() is level
    try:
        yield
    finally:
        stack.append(level)


def _check(level: Level, differs: bool, out: Any = None) -> bool:
    """Whether each sample draws its own numbers.

    Raises:
        RuntimeError: the mode is "error", or it is "same" and what is drawn from differs.
    """
    if out is not None:
        raise OperationError(
            "vmap: We do not support calling out variants of random operations inside of vmap. "
            "Please use non-out variants as a workaround"
        )
    if level.randomness == "error":
        raise refused_draw()
    if level.randomness == "same" and differs:
        raise OperationError(
            "Vmap does not currently support same randomness with a batched tensor input. Please "
            "file an issue with functorch"
        )
    return level.randomness == "different"


def created(
    level: Level, make: Callable[[tuple[int, ...]], Tensor], shape: tuple[int, ...], out: Any
) -> Tensor:
    """A new tensor of random numbers, `make(shape)` of one sample."""
    each = _check(level, False, out)
    with outside(level):
        return batched(make((level.size, *shape)), level.number) if each else make(shape)


def one_by_one(level: Level, make: Callable[[], Tensor], out: Any) -> Tensor:
    """A new tensor that can be drawn for one sample at a time only."""
    each = _check(level, False, out)
    with outside(level):
        if not each:
            return make()
        return batched(F.stack(*[make() for _ in range(level.size)], dim=0), level.number)


def alike(level: Level, make: Callable[[Tensor], Tensor], like: Tensor) -> Tensor:
    """A new tensor with the shape of another one, whose values do not matter."""
    each = _check(level, False)
    whole, flag = unwrap(like, level.number, level.size)
    with outside(level):
        if each:
            return batched(make(whole if flag else spread(whole, level.size)), level.number)
        return make(F.select(whole, dim=0, index=0) if flag and level.size else whole)


def each_sample(level: Level, make: Callable[[Tensor], Tensor], x: Tensor) -> Tensor | None:
    """The function of all samples, which draws for each of them; None where one draw serves all.

    The values of `x` do not say how it is drawn, so that one draw may serve different samples.
    """
    if not _check(level, False):
        return None
    whole, flag = unwrap(x, level.number, level.size)
    with outside(level):
        return batched(make(whole if flag else spread(whole, level.size)), level.number)


def apart(x: Tensor) -> Tensor:
    """`x` itself, as a sample of its own where each sample draws its own numbers."""
    level = running() if draw_guards else None
    return x if level is None or not _check(level, False) else ensure(x, level)


def from_parameters(
    level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A draw from distributions whose parameters are the tensors among the arguments."""
    out = kwargs.pop("out", None)
    given = [*args, *kwargs.values()]
    places = [k for k, x in enumerate(given) if isinstance(x, Tensor)]
    pairs = [_values(given[k], level) for k in places]
    each = _check(level, any(flag for _, flag in pairs), out)
    if each and not any(flag for _, flag in pairs):
        pairs[0] = (spread(pairs[0][0], level.size), True)
    values = aligned([v for v, _ in pairs], [flag for _, flag in pairs])
    for k, value in zip(places, values, strict=True):
        given[k] = value
    with outside(level):
        made = function(*given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True)))
    return batched(made, level.number) if each else made


def _values(x: Tensor, level: Level) -> tuple[Any, bool]:
    """What `unwrap` gives, of the values alone: tangents do not say what is drawn."""
    if level_of(x) == 0 and x._x is not None and x._x.get("tangents"):
        plain = F.alias(x)
        plain.extra().pop("tangents", None)
        return plain, False
    return unwrap(x, level.number, level.size)


def in_place(
    level: Level,
    name: str,
    fill: Callable[..., Tensor],
    target: Tensor,
    parameter: Any = None,
) -> Tensor:
    """`fill(target, parameter)`, which fills a tensor with random numbers."""
    if not innermost_maps():  # a function is differentiated inside of the one that is mapped
        check_own(target)
    number, size = level.number, level.size
    whole, flag = unwrap(target, number, size)
    differs = False
    if isinstance(parameter, Tensor):
        parameter, differs = unwrap(parameter, number, size)
    each = _check(level, differs)
    if differs and not flag:
        raise larger(f"inplace {name.rstrip('_')}")
    if each and not flag:
        raise OperationError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. If this is necessary for your usage, please file an "
            "issue with functorch."
        )
    with outside(level):
        if each or not flag:
            if differs and parameter._array.ndim < whole._array.ndim:
                parameter = aligned([whole, parameter], [True, True])[1]
            fill(whole, parameter)
        else:
            a = whole._array
            sample = fill(wrap(np.empty(a.shape[1:], a.dtype)), parameter)
            overwrite(whole, spread(sample, size), name)
    target._rg = whole._rg
    return target
