"""Find out whether a value holds scores, probabilities or log-probabilities, from the operations
that produced it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...events import ARITHMETIC, VIEWS, Op, Value

SCORES = frozenset(
    "linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d matmul mm bmm mv addmm baddbmm addmv addbmm "
    "einsum tensordot inner lstm gru rnn lstm_cell gru_cell rnn_cell multi_head_attention_forward scaled_dot_product_attention".split()
)
"""Operations whose results are unbounded scores."""

SOFTMAXES = frozenset("softmax softmin softmax2d gumbel_softmax".split())

SAMPLED = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout masked_fill masked_scatter where".split()
)
_BENT = frozenset(
    "relu relu6 leaky_relu prelu elu selu celu gelu silu mish softplus tanh hardtanh batch_norm layer_norm group_norm instance_norm rms_norm "
    "avg_pool1d avg_pool2d max_pool1d max_pool2d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d neg "
    "max amax sum interpolate".split()
)
_KEPT = (
    VIEWS
    | SAMPLED
    | {"clamp", "clamp_min", "clamp_max", "mean", "cat", "stack", "hstack", "vstack", "nan_to_num"}
)


@dataclass(slots=True)
class Origin:
    """`kind`: "scores", "softmax" or "sigmoid" (probabilities), "logs" (log-probabilities), "log of
    scores"; `op` is what made them.

    `linear` says that nothing but a layer's own sum lies between (no ReLU, norm or pooling).
    """

    kind: str
    op: Op
    linear: bool = True
    # probabilities that a number has multiplied: a temperature, which scores would have had
    scaled: bool = False

    @property
    def probabilities(self) -> bool:
        """Whether these are probabilities."""
        return self.kind in ("softmax", "sigmoid")


def compared(op: Op) -> tuple[Value, Value] | None:
    """The scores and the target of a loss, where both are tensors."""
    scores, target = op.args.get("input"), op.args.get("target")
    if isinstance(scores, Value) and isinstance(target, Value):
        return scores, target
    return None


def learned_from(op: Op) -> tuple[Value, Value] | None:
    """The scores and the target of a loss that teaches: only the scores have a gradient."""
    both = compared(op)
    if both is None or not both[0].requires_grad or both[1].requires_grad:
        return None
    return both


def origin(value: Any, depth: int = 60) -> Origin | None:
    """What a value is, None when that is not certain."""
    linear = True
    while isinstance(value, Value) and depth > 0:
        depth -= 1
        op = value.producer
        if op is None:
            return None
        name = op.name
        if name in SCORES:
            return None if _mixture(op) else Origin("scores", op, linear)
        found = _squashed(op)
        if found is not None:
            return found if linear else None
        if name in ARITHMETIC:
            return _arithmetic(op, depth, linear)
        if not op.inputs:
            return None
        if name in _BENT:
            linear = False
        elif name not in _KEPT:
            return None
        value = op.inputs[1] if name == "where" and len(op.inputs) > 1 else op.inputs[0]
    return None


def _mixture(op: Op) -> bool:
    """Whether a product is one of probabilities, not a layer: weights times distributions."""
    if op.name not in ("matmul", "mm", "bmm", "einsum", "tensordot", "inner", "mv"):
        return False
    return any((found := origin(v, 12)) is not None and found.probabilities for v in op.inputs)


def _squashed(op: Op) -> Origin | None:
    """Probabilities and logarithms, made by the library's functions or by hand."""
    name = op.name
    if name in SOFTMAXES:
        return Origin("softmax", op)
    if name in ("sigmoid", "hardsigmoid"):
        return Origin("sigmoid", op)
    if name in ("log_softmax", "logsigmoid"):
        return Origin("logs", op)
    if name == "log" and op.inputs:
        inner = origin(op.inputs[0])
        return (
            Origin("log of scores", op)
            if inner is not None and inner.kind == "scores" and inner.linear
            else Origin("logs", op)
        )
    if name == "exp" and op.inputs:
        inner = origin(op.inputs[0])
        if inner is not None and inner.kind == "logs":
            return Origin("sigmoid" if inner.op.name == "logsigmoid" else "softmax", op)
    if (
        name in ("mul", "div")
        and len(op.inputs) == 1
        and {op.args.get("input"), op.args.get("other")} & ({0.5} if name == "mul" else {2})
    ):
        shifted = op.inputs[0].producer  # (tanh + 1) / 2
        if (
            shifted is not None
            and shifted.name == "add"
            and 1 in (shifted.args.get("input"), shifted.args.get("other"))
            and shifted.inputs
        ):
            bent = shifted.inputs[0].producer
            if bent is not None and bent.name == "tanh":
                return Origin("sigmoid", op)
    if name == "div" and len(op.inputs) == 2 and _is_exp_over_its_sum(*op.inputs):
        return Origin("softmax", op)
    if name == "reciprocal" and op.inputs and _is_one_plus_exp(op.inputs[0]):
        return Origin("sigmoid", op)
    if (
        name == "div"
        and op.args.get("input") in (1, 1.0)
        and op.inputs
        and _is_one_plus_exp(op.inputs[0])
    ):
        return Origin("sigmoid", op)
    return None


def _is_exp_over_its_sum(above: Value, below: Value) -> bool:
    exp, total = above.producer, below.producer
    while (
        total is not None
        and total.name
        in ("unsqueeze", "expand", "expand_as", "getitem", "clamp", "add", "view", "reshape")
        and total.inputs
    ):
        total = total.inputs[0].producer
    return (
        exp is not None
        and total is not None
        and exp.name == "exp"
        and total.name == "sum"
        and bool(total.inputs)
        and total.inputs[0].producer is exp
    )


def _is_one_plus_exp(value: Value) -> bool:
    op = value.producer
    return (
        op is not None
        and op.name == "add"
        and 1 in (op.args.get("input"), op.args.get("other"))
        and bool(op.inputs)
        and (inner := op.inputs[0].producer) is not None
        and inner.name == "exp"
    )


def _arithmetic(op: Op, depth: int, linear: bool) -> Origin | None:
    a, b = op.args.get("input"), op.args.get("other")
    if not (isinstance(a, Value) and isinstance(b, Value)):
        value, number = (a, b) if isinstance(a, Value) else (b, a)
        found = origin(value, depth)
        if found is None or not isinstance(number, (int, float)):
            return None
        if found.kind == "scores":
            return Origin("scores", found.op, linear and found.linear)
        tiny = op.name in ("add", "sub") and abs(number) <= 1e-3
        if (
            found.probabilities
            and linear
            and op.name in ("mul", "div")
            and number != 1
            and number > 0
        ):
            return Origin(found.kind, found.op, linear, scaled=True)
        return found if linear and (tiny or op.name in ("mul", "div") and number == 1) else None
    for v in (a, b):
        if v.producer is not None and v.producer.name in ("logsumexp", "log"):
            return Origin("logs", op) if op.name in ("sub", "add") else None
    first, second = origin(a, depth // 2), origin(b, depth // 2)
    if op.name == "mul" and linear:  # a mask
        for found, other in ((first, b), (second, a)):
            if (
                found is not None
                and found.probabilities
                and not other.requires_grad
                and (first is None or second is None)
            ):
                return Origin(found.kind, found.op, linear, scaled=True)
    scored = [o for o in (first, second) if o is not None and o.kind == "scores"]
    others = [o for o in (first, second) if o is not None and o.kind != "scores"]
    if not scored or any(not o.probabilities for o in others):
        return None
    return Origin("scores", scored[0].op, linear and scored[0].linear and op.name in ("add", "sub"))


class Sampled:
    """Says at which visits of a place values are looked at: the first three, then powers of two."""

    def __init__(self) -> None:
        self._visits: dict[Any, int] = {}

    def due(self, place: Any) -> bool:
        """Count a visit, and say whether to look."""
        n = self._visits.get(place, 0)
        self._visits[place] = n + 1
        return n < 3 or n & (n - 1) == 0


class Repeated:
    """Tells of a place at which something is wrong `times` times, of the first `looks` visits."""

    def __init__(self, looks: int, times: int) -> None:
        self.looks, self.times = looks, times
        self._visits: dict[Any, int] = {}
        self._wrong: dict[Any, int] = {}

    def due(self, place: Any) -> bool:
        """Count a visit, and say whether to look."""
        visits = self._visits[place] = self._visits.get(place, 0) + 1
        return visits <= self.looks

    def again(self, place: Any) -> bool:
        """Something is wrong at a place: whether it was so often enough, now."""
        wrong = self._wrong[place] = self._wrong.get(place, 0) + 1
        return wrong == self.times


def is_normalised(value: Value, axis: int | None = None) -> bool:
    """Whether exp(value) sums to one over the class axis, which is 1, or 0 of a vector."""
    array = value.numpy()
    if array is None:
        return True
    axis = (1 if array.ndim > 1 else 0) if axis is None else axis
    sums = np.exp(np.minimum(array.astype(np.float64), 50.0)).sum(axis)
    return bool(np.mean(np.abs(sums - 1) < 0.01) > 0.5)


def is_index(thing: Any) -> bool:
    """Whether something picks elements by their numbers."""
    return isinstance(thing, Value) and "int" in thing.dtype or isinstance(thing, (list, range))
