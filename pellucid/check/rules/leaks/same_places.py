"""What a model sees of the places that it is to predict: tokens that are not masked, convolutions
that reach to later places.
"""

from __future__ import annotations

from typing import Any

from ...events import VIEWS, Op, Value, lineage

FORECASTS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_MASKED = (0.02, 0.5)  # the share of masked tokens


def kept_tokens(ids: Any, table: Any) -> float | None:
    """The share of the tokens that are the same in input and targets, when all others are one token
    that no target is: the mask.
    """
    hidden = ids != table
    share = float(hidden.mean())
    if not _MASKED[0] < share < _MASKED[1]:
        return None
    first = ids[hidden][0]
    if (ids[hidden] != first).any() or (table == first).any():
        return None
    return 1 - share


def looks_ahead(made: list[Op], length: int, reads: Any) -> Op | None:
    """A convolution over a sequence that is padded at its end, too, and keeps its length; `reads`
    says whether it is of the sequence in question.
    """
    for op in made:
        if op.name != "conv1d":
            continue
        x, weight, out = op.args.get("input"), op.args.get("weight"), op.output
        if not isinstance(x, Value) or not isinstance(weight, Value) or weight.shape[-1] < 2:
            continue
        if x.shape[-1] != length or out is not None and out.shape[-1] != length:
            continue
        padding = op.args.get("padding", 0)
        padding = padding[0] if isinstance(padding, (tuple, list)) and padding else padding
        if padding == "same" or isinstance(padding, int) and padding > 0:
            if out is None and _length(op, padding, length, weight.shape[-1]) != length:
                continue
            if reads(op):
                return op
    return None


def _length(op: Op, padding: Any, length: int, kernel: int) -> int:
    """The length of a convolution's result, which is gone."""
    if padding == "same":
        return length
    one = [op.args.get(k, 1) for k in ("stride", "dilation")]
    stride, dilation = (n[0] if isinstance(n, (tuple, list)) else n for n in one)
    return int((length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)


def next_slice(given: Value, target: Value) -> bool:
    """Whether a target is cut from the same series as an input, one place later: `x[:, 1:]` for
    `x[:, :-1]`.
    """
    parts = []
    for value, wanted in ((given, (None, -1, None)), (target, (1, None, None))):
        found = set()
        for op in lineage(value, VIEWS, 8):
            index = op.args.get("index") if op.name == "getitem" and op.inputs else None
            last = index[-1] if isinstance(index, (tuple, list)) and index else index
            if isinstance(last, slice) and (last.start, last.stop, last.step) == wanted:
                found.add(op.inputs[0].number)
        parts.append(found)
    return bool(parts[0] & parts[1])
