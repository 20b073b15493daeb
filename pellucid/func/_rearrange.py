"""`rearrange`: dimensions moved, split and merged by a pattern of names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor
from ..errors import ArgumentValueError

_TOKEN = re.compile(r"\.\.\.|[()]|\w+|\S")
_DOTS = ["..."]  # by itself; between parentheses it is a name among others


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dimensions as the right side of a pattern arranges those of the left
    side.

    Args:
        tensor: a tensor, or a sequence of tensors, which are stacked in front.
        pattern: like `"b (h w) c -> b c h w"`: parentheses hold dimensions that are one, `...`
            stands for any number of them.
        axes_lengths: sizes of dimensions on the left that do not follow from the shape.

    Raises:
        ValueError: a pattern that cannot be read, names that differ between the sides, or sizes
            that do not fit.

    Source: Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like
    Notation", 2022.

    >>> import pellucid as torch
    >>> torch.func.rearrange(torch.arange(6).reshape(1, 6), "b (h w) -> b w h", h=2)
    tensor([[[0, 3],
             [1, 4],
             [2, 5]]])
    """
    x = tensor if isinstance(tensor, Tensor) else F.stack(*tensor, dim=0)
    left, arrow, right = pattern.partition("->")
    if not arrow or "->" in right:
        raise ArgumentValueError(f"rearrange: expected one '->' in the pattern {pattern!r}")
    source, target = _groups(left, pattern), _groups(right, pattern)
    free = x._array.ndim - sum(g is not _DOTS for g in source)
    if free < 0 or (free and not any("..." in g for g in source)):
        raise ArgumentValueError(
            f"rearrange: a tensor of {x._array.ndim} dimensions does not fit the pattern {pattern!r}"
        )
    dots = [f".{k}" for k in range(free)]
    if any("..." in g for g in target) > any("..." in g for g in source):
        raise ArgumentValueError(f"rearrange: '...' stands on the right of {pattern!r} alone")
    source, target = _spread(source, dots), _spread(target, dots)
    names, wanted = [n for g in source for n in g], [n for g in target for n in g]
    if len(set(names)) != len(names) or sorted(names) != sorted(wanted):
        raise ArgumentValueError(
            f"rearrange: the two sides of {pattern!r} do not have the same names"
        )
    unknown = set(axes_lengths) - set(names)
    if unknown:
        raise ArgumentValueError(
            f"rearrange: {', '.join(sorted(unknown))} is no dimension on the left of {pattern!r}"
        )
    sizes: dict[str, int] = {}
    for group, size in zip(source, x._array.shape, strict=True):
        sizes |= _sizes(group, size, axes_lengths, pattern)
    x = F.reshape(x, shape=tuple(sizes[n] for n in names))
    x = F.permute(x, dims=tuple(names.index(n) for n in wanted))
    return F.reshape(x, shape=tuple(math.prod(sizes[n] for n in g) for g in target))


def _spread(groups: list[list[str]], dots: list[str]) -> list[list[str]]:
    """The groups with `...` replaced by the dimensions that it stands for."""
    out: list[list[str]] = []
    for group in groups:
        if group is _DOTS:
            out += [[d] for d in dots]
        else:
            out.append([d for name in group for d in (dots if name == "..." else [name])])
    return out


def _groups(side: str, pattern: str) -> list[list[str]]:
    """One side of a pattern: a list of names for each dimension."""
    groups: list[list[str]] = []
    inside: Any = None
    for token in _TOKEN.findall(side):
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            groups.append(inside)
            inside = None
        elif token == "1":
            if inside is None:
                groups.append([])
        elif token == "..." or token.isidentifier():
            if inside is None:
                groups.append(_DOTS if token == "..." else [token])
            else:
                inside.append(token)
        else:
            raise ArgumentValueError(f"rearrange: cannot read {token!r} in the pattern {pattern!r}")
    if inside is not None:
        raise ArgumentValueError(
            f"rearrange: a parenthesis is not closed in the pattern {pattern!r}"
        )
    return groups


def _sizes(group: list[str], size: int, given: dict[str, int], pattern: str) -> dict[str, int]:
    """The size of each dimension of a group, of which one at most is not given."""
    known = {n: given[n] for n in group if n in given}
    unknown = [n for n in group if n not in known]
    rest = math.prod(known.values())
    if len(unknown) > 1:
        raise ArgumentValueError(
            f"rearrange: give the sizes of {' and '.join(unknown[1:])} in the pattern {pattern!r}"
        )
    if (unknown and (not rest or size % rest)) or (not unknown and rest != size):
        raise ArgumentValueError(
            f"rearrange: a dimension of size {size} does not fit ({' '.join(group)}) of the pattern {pattern!r}"
        )
    return {**known, **dict.fromkeys(unknown, size // rest)}
