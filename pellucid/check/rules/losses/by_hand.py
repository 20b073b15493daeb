"""Losses that the program writes out itself: scores used as probabilities, and probabilities used
as scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import ARITHMETIC, VIEWS, Op, Value
from ...rule import distinct
from ..source.places import called_from
from .origin import Origin, origin

_LAYERS = frozenset(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d addmm".split()
)
_SAMPLES = frozenset("multinomial bernoulli sample".split())
_SAYS_SCORES = re.compile(r"logit|score|raw|output|inputs?$")
_ALONG = frozenset("mean sum neg squeeze view reshape flatten nanmean".split())


def raw(value: Any) -> Origin | None:
    """Where raw scores of a layer come from; None for anything else, also for scores that an
    activation or a norm has changed.
    """
    found = origin(value)
    if found is None or found.kind != "scores" or not found.linear:
        return None
    return found if found.op.name in _LAYERS or value.requires_grad else None


def outside(value: Value) -> bool | None:
    """Whether numbers are below 0 or above 1, as no probabilities are; None when they are gone."""
    array = value.numpy()
    if array is None or not array.size:
        return None
    return bool(np.mean((array < 0) | (array > 1)) > 0.02)


def entered(recorder: Any, op: Op, made: Op) -> Any:
    """The line that hands scores to the function in which an operation reads them; the operation's
    own when they were made there, or when the function says by the names of its parameters that it
    takes scores."""
    site = op.site
    if site is None or site.code.co_name in ("<module>", "<lambda>") or made.site is None:
        return site
    outer = made.module.root.site if made.module is not None else made.site
    if made.site.code is site.code or outer is not None and outer.code is site.code:
        return site
    code = site.code
    names = [
        n for n in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if n != "self"
    ]
    if any(_SAYS_SCORES.search(n.lower()) for n in names):
        return site
    return called_from(code, recorder) or site


def plain(value: Value) -> Value:
    """A value before it was viewed or cast."""
    for _ in range(12):
        op = value.producer
        if (
            op is None
            or op.name not in VIEWS
            or not op.inputs
            or op.name in ("gather", "getitem", "take", "masked_select")
        ):
            return value
        value = op.inputs[0]
    return value


def valued(op: Op) -> tuple[Value, Origin, str] | None:
    """(scores, where they come from, what it may become) of an operation that makes sense for
    probabilities alone: a product with amounts, the distance to labels of 0 and 1, a product with a
    value for each class."""
    if len(op.inputs) != 2:
        return None
    for scores, other in (op.inputs, op.inputs[::-1]):
        found = raw(scores) if other.numel > 2 and not other.requires_grad and scores.ndim else None
        array = other.numpy() if found is not None and raw(other) is None else None
        if found is None or array is None or array.dtype.kind not in "fiu" or not outside(scores):
            continue
        if op.name in ("sub", "mse_loss", "l1_loss"):
            if scores.shape == other.shape and np.isin(array, (0, 1)).all():
                return scores, found, "the distance to labels of 0 and 1"
        elif distinct(array).size < 3:
            continue
        elif (
            array.ndim == 1
            and scores.ndim == 2
            and array.shape[0] == scores.shape[1]
            and op.inputs[0] is scores
        ):
            return scores, found, "the expected value over the classes"
        elif op.name == "mul" and scores.shape == other.shape and array.min() >= 0:
            return scores, found, "a mean of amounts weighted with probabilities"
    return None


def reduced_to(value: Value, numbers: Any) -> int | None:
    """The number of the operation among some that a number is the mean or the sum of, squares and
    roots in between.
    """
    for _ in range(10):
        op = value.producer
        if op is None or not op.inputs:
            return None
        if op.number in numbers:
            return op.number
        if op.name not in (*_ALONG, "pow", "square", "abs", "sqrt") and not (
            op.name in ("mul", "div") and len(op.inputs) == 1
        ):
            return None
        value = op.inputs[0]
    return None


def picked_probabilities(value: Value) -> bool:
    """Whether numbers were picked by the actions of a discrete policy and are all above 0, as no
    log-probabilities are.
    """
    made = plain(value).producer
    if (
        made is None
        or made.name not in ("gather", "getitem")
        or not any("int" in v.dtype for v in made.inputs[1:])
    ):
        return False
    array = value.numpy()
    return array is not None and array.size >= 8 and bool(((array > 0) & (array < 1)).all())


def overlap(op: Op) -> Value | None:
    """`p` of `sum(p * t) / (sum(p) + sum(t))`, as in the losses of Dice, Jaccard and Tversky."""
    a, b = op.args.get("input"), op.args.get("other")
    if not (isinstance(a, Value) and isinstance(b, Value)):
        return None
    summed = {plain(v).number for v in _summed(b)}
    for v in _summed(a):
        product = v.producer
        if product is None or product.name != "mul" or len(product.inputs) != 2:
            continue
        for p, t in (product.inputs, product.inputs[::-1]):
            if (
                p.requires_grad
                and not t.requires_grad
                and plain(p).number in summed
                and plain(t).number in summed
            ):
                return p
    return None


def _summed(value: Value, depth: int = 8) -> Iterator[Value]:
    """What is summed up in a value, numbers added and multiplied left out."""
    op = value.producer
    if op is None or not depth:
        return
    if op.name in ("sum", "mean", "count_nonzero") and op.inputs:
        inner = op.inputs[0]
        made = inner.producer
        if (
            made is not None
            and made.inputs
            and (made.name in ("square", "pow") or made.name == "mul" and op.inputs[0] is not inner)
        ):
            inner = made.inputs[0]
        yield inner
        if made is not None and made.name in ("add", "sub"):
            for v in made.inputs:
                yield v
    elif op.name in ("add", "sub", "mul", "clamp", "clamp_min", "neg") or op.name in VIEWS:
        for v in op.inputs:
            yield from _summed(v, depth - 1)


def picked_actions(root: Value) -> tuple[Op, Origin] | None:
    """Raw scores of sampled actions that a loss reads as their log-probabilities:
    `-(scores.gather(1, a) * reward).mean()`.
    """
    value, weighed = root, False
    for _ in range(10):
        op = value.producer
        if op is None or not op.inputs:
            return None
        if op.name in ("gather", "getitem"):
            index = [v for v in op.inputs[1:] if "int" in v.dtype]
            found = raw(op.inputs[0]) if index and weighed and op.inputs[0].requires_grad else None
            return (op, found) if found is not None and any(sampled(v) for v in index) else None
        if op.name in ("mul", "div") and len(op.inputs) == 2:
            hot = [v for v in op.inputs if v.requires_grad]
            if len(hot) != 1 or weighed:
                return None
            value, weighed = hot[0], True
            continue
        if op.name in ("add", "sub") and len(op.inputs) == 2:  # a bonus beside it
            for v in op.inputs:
                found_inside = picked_actions(v)
                if found_inside is not None:
                    return found_inside
            return None
        if op.name not in _ALONG and not (op.name in ("mul", "div") and len(op.inputs) == 1):
            return None
        value = op.inputs[0]
    return None


def sampled(value: Value, depth: int = 8) -> bool:
    """Whether numbers of actions were drawn from a distribution."""
    op = value.producer
    if op is None or not depth:
        return op is None  # what a distribution draws is not recorded
    return (
        op.name in _SAMPLES
        or op.name in VIEWS
        and any(sampled(v, depth - 1) for v in op.inputs[:1])
    )


def weighs_rows(op: Op) -> tuple[Value, Value] | None:
    """(scores, weights) of a product of scores with weights that sum to one in each row: one-hot or
    smoothed labels.
    """
    if len(op.inputs) != 2:
        return None
    for scores, weights in (op.inputs, op.inputs[::-1]):
        if (
            scores.requires_grad
            and not weights.requires_grad
            and scores.ndim >= 2
            and scores.shape == weights.shape
            and scores.shape[-1] > 1
            and weights.is_floating_point | ("int" in weights.dtype)
        ):
            array = weights.numpy()
            if (
                array is not None
                and (array >= 0).all()
                and np.all(np.abs(np.abs(array.sum(-1)) - 1) < 1e-3)
            ):
                return scores, weights
            if (
                array is not None
                and (array <= 0).all()
                and np.all(np.abs(array.sum(-1) + 1) < 1e-3)
            ):
                return scores, weights
    return None


def reduced(root: Value, numbers: set[int]) -> Op | None:
    """The operation among `numbers` of which a loss is nothing but a mean or a sum, with a minus
    sign perhaps.
    """
    value = root
    for _ in range(8):
        op = value.producer
        if op is None or not op.inputs:
            return None
        if op.number in numbers:
            return op
        if op.name not in _ALONG and not (op.name in ("mul", "div") and len(op.inputs) == 1):
            return None
        value = op.inputs[0]
    return None


def terms(root: Value) -> Iterator[Op]:
    """The operations whose results are reduced, scaled and added up to a loss."""
    waiting, left = [root], 200
    while waiting and left:
        left -= 1
        op = waiting.pop().producer
        if op is None:
            continue
        if op.name in _ALONG or op.name in ARITHMETIC:
            waiting.extend(v for v in op.inputs if v.requires_grad)
        else:
            yield op


def consumers(graph: list[Op], numbers: set[int]) -> dict[int, list[Op]]:
    """By number of an operation: the operations that use its result."""
    found: dict[int, list[Op]] = {}
    for op in graph:
        for v in op.inputs:
            if v.producer is not None and v.producer.number in numbers:
                found.setdefault(v.producer.number, []).append(op)
    return found


def complement(first: Op, p: Value, graph: list[Op]) -> str | None:
    """How `1 - p` is used where only probabilities can be: in words, None for other uses such as a
    hinge.
    """
    uses = consumers(graph, {first.number})
    for op in uses.get(first.number, []):
        behind, seen = op, 0
        while behind.name in ("clamp", "clamp_min", "add") and len(behind.inputs) == 1 and seen < 3:
            after = consumers(graph, {behind.number}).get(behind.number, [])
            if not after:
                break
            behind, seen = after[0], seen + 1
        if behind.name in ("log", "log2"):
            return "`log(1 - p)`"
        if op.name in ("pow", "square"):
            for product in consumers(graph, {op.number}).get(op.number, []):
                others = [v for v in product.inputs if v.producer is not op]
                if product.name == "mul" and others and others[0].requires_grad:
                    return "`(1 - p) ** gamma`, the weight of a focal loss"
        if op.name == "mul" and len(op.inputs) == 2:
            other = next((v for v in op.inputs if v.producer is not first), None)
            if other is None or other.requires_grad:
                continue
            for total in consumers(graph, {op.number}).get(op.number, []):
                for side in total.inputs if total.name == "add" else ():
                    made = side.producer
                    if (
                        made is not None
                        and made is not op
                        and made.name == "mul"
                        and any(v.number == p.number for v in made.inputs)
                    ):
                        return "`p * t + (1 - p) * (1 - t)`"
    return None
