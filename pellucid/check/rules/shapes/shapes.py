"""Shapes that do not belong together: operands that broadcast against each other, losses of unequal
shapes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...events import VIEWS, Backward, Failure, Op, Value, ancestors, lineage
from ...rule import Rule
from ..source.places import receiver

ELEMENTWISE_LOSSES = (
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "poisson_nll_loss",
    "soft_margin_loss",
    "gaussian_nll_loss",
    "margin_ranking_loss",
    "hinge_embedding_loss",
)


def expanded_axes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """(axes of the result, from the right, in which `a` grows; those in which `b` grows)."""
    grows_a, grows_b = [], []
    for k in range(1, max(len(a), len(b)) + 1):
        x = a[-k] if k <= len(a) else 1
        y = b[-k] if k <= len(b) else 1
        if x == 1 and y > 1:
            grows_a.append(-k)
        elif y == 1 and x > 1:
            grows_b.append(-k)
    return grows_a, grows_b


def repair(a: Value, b: Value, name_a: str, name_b: str) -> str | None:
    """How to give two operands of equally many elements one shape."""
    if a.numel != b.numel:
        return None
    to_a, to_b = receiver(name_a), receiver(name_b)
    if a.ndim == b.ndim + 1 and a.shape[-1] == 1 and a.shape[:-1] == b.shape:
        return f"`{to_a}.squeeze(-1)` makes it {list(b.shape)} (or `{to_b}.unsqueeze(-1)` makes the other {list(a.shape)})"
    if b.ndim == a.ndim + 1 and b.shape[-1] == 1 and b.shape[:-1] == a.shape:
        return f"`{to_b}.squeeze(-1)` makes it {list(a.shape)} (or `{to_a}.unsqueeze(-1)` makes the other {list(b.shape)})"
    return f"`{to_b}.view_as({name_a})` if the elements are in the same order"


class MutualBroadcast(Rule):
    """Arithmetic between (B, 1) and (B,) gives (B, B): every element of one with every element of
    the other.
    """

    slug = "mutual-broadcast"
    id = "PL101"
    severity = "error"
    summary = "two operands broadcast against each other along different axes"
    ops = (
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "floor_divide",
        "remainder",
        "fmod",
        "atan2",
        "maximum",
        "minimum",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "where",
        "lerp",
        "isclose",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "xlogy",
        "copysign",
        "float_power",
        "fmax",
        "fmin",
        "addcmul",
        "addcdiv",
    )

    def on_op(self, op: Op) -> None:
        """Two operands with the same elements in the same order but for an axis of 1, which both
        grow.
        """
        first, second = (
            ("tensor1", "tensor2") if op.name in ("addcmul", "addcdiv") else ("input", "other")
        )
        second = next((name for name in (second, "exponent", "end") if name in op.args), second)
        a, b = op.args.get(first), op.args.get(second)
        if (
            isinstance(a, Value)
            and isinstance(b, Value)
            and b.ndim
            and a.ndim == b.ndim + 1
            and op.name in ("sub", "div")
        ):
            self._statistic(op, a, b)
        if (
            not (isinstance(a, Value) and isinstance(b, Value))
            or a.ndim == b.ndim
            or a.numel != b.numel
        ):
            return
        grows_a, grows_b = expanded_axes(a.shape, b.shape)
        if not (grows_a and grows_b) or _without_ones(a.shape) != _without_ones(b.shape):
            return
        if _meant(op, a, b) or _is_grid(a) or _is_grid(b):
            return
        name_a, name_b = (
            op.written(first) or "the first operand",
            op.written(second) or "the second operand",
        )
        result = list(op.output.shape) if op.output is not None else []
        self.report(
            op.site,
            f"{name_a} of shape {list(a.shape)} and {name_b} of shape {list(b.shape)} broadcast to {result}: "
            "every element of one is compared with every element of the other instead of its own.",
            evidence={
                "operation": op.name,
                "input": list(a.shape),
                "other": list(b.shape),
                "result": result,
            },
            fix=f"give both the same shape: {repair(a, b, name_a, name_b)}",
        )

    def _statistic(self, op: Op, whole: Value, part: Value) -> None:
        """`x - x.mean(1)` of a square matrix: the mean of row i meets column i."""
        made = part.producer
        if made is not None and made.name in ("add", "clamp", "clamp_min", "sqrt") and made.inputs:
            made = made.inputs[0].producer
        dim = made.args.get("dim") if made is not None else None
        dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
        if (
            made is None
            or made.name not in _REDUCTIONS
            or not isinstance(dim, int)
            or not made.inputs
            or not op.direct
        ):
            return
        source = made.inputs[0]
        if (
            source.shape != whole.shape
            or whole.shape[0] < 2
            or part.shape != whole.shape[1:]
            or dim % whole.ndim == 0
        ):
            return
        if source.number != whole.number and not any(
            o.name == "sub" and source in o.inputs for o in [whole.producer] if o is not None
        ):
            return
        name_a, name_b = op.written("input") or "the data", op.written("other") or "their statistic"
        self.report(
            op.site,
            f"{name_b} of shape {list(part.shape)} was computed along dim {dim} of {name_a} {list(whole.shape)}, but "
            "broadcasts along its last axis instead of "
            "its first. This goes unnoticed because both sizes are equal.",
            evidence={
                "operation": op.name,
                "statistic": made.name,
                "dim": dim,
                "input": list(whole.shape),
                "other": list(part.shape),
            },
            fix=f"keep the axis: `{made.name}({dim}, keepdim=True)`",
        )


_EVEN = frozenset(
    "abs square pow mul div add sub neg where lt le gt ge mean sum sqrt log1p clamp minimum maximum log cosh float to".split()
)


def alike(first: Op, columns: int, graph: list[Op]) -> bool:
    """Whether a loss does the same to all columns of a difference: no weights of the columns, no
    choice among them.
    """
    numbers = {first.number}
    for op in sorted(graph, key=lambda op: op.number):
        if not any(v.producer is not None and v.producer.number in numbers for v in op.inputs):
            continue
        others = [v for v in op.inputs if v.producer is None or v.producer.number not in numbers]
        if op.name not in _EVEN or any(v.ndim and v.shape[-1] == columns for v in others):
            return False
        numbers.add(op.number)
    return True


_REDUCTIONS = frozenset("mean sum std var amax amin median norm logsumexp".split())


def _data(value: Value) -> Iterator[Op]:
    """The views that a value is of other data: what picks elements (the index of `gather`) is no
    data.
    """
    current: Value | None = value
    for _ in range(40):
        op = current.producer if current is not None else None
        if op is None:
            return
        yield op
        if op.name not in VIEWS or op.name == "gather":
            return
        current = op.inputs[0] if op.inputs else None


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([size for size in shape if size != 1])


def _meant(op: Op, a: Value, b: Value) -> bool:
    """Whether all pairs are wanted: the axis of 1 was put there in the user's code, as far as that
    is a sign of intent.

    An index with None, `x[:, None] - y`, always is. `unsqueeze`, `view` and `reshape` are when they
    stand on the same line or make the column of the very row that it meets; in a product, where
    outer products are common, wherever they stand.
    """
    column, row = (a, b) if a.ndim > b.ndim else (b, a)
    for made in _data(column):
        if not made.direct or 1 not in (made.output.shape if made.output is not None else (1,)):
            continue
        if made.name == "getitem":
            index = made.args.get("index")
            if any(i is None for i in (index if isinstance(index, tuple) else (index,))):
                return True
        elif made.name in ("unsqueeze", "view", "reshape", "expand"):
            here = made.site is not None and op.site is not None and made.site.key == op.site.key
            if here or op.name in ("mul", "div") or made.inputs[:1] == (row,):
                return True
    return False


def _is_grid(value: Value) -> bool:
    """Positions, frequencies: numbers that were counted out, not data."""
    return any(
        made.name in ("arange", "linspace", "logspace")
        for made in lineage(value, VIEWS | {"add", "mul", "div", "pow", "exp"})
    )


class LossShapeMismatch(Rule):
    """A loss compares element by element, so prediction and target must have the same shape."""

    slug = "loss-shape-mismatch"
    id = "PL102"
    severity = "error"
    summary = "prediction and target of a loss have different shapes"
    ops = (*ELEMENTWISE_LOSSES, "sub")

    def __init__(self) -> None:
        # by number of a difference, until the next backward
        self._expanded: dict[int, tuple[Op, Value, Value]] = {}

    def on_op(self, op: Op) -> None:
        """Shapes that differ by more than a target that is one number."""
        if op.name == "sub":
            self._difference(op)
            return
        pairs = (
            (("input", "target"),)
            if op.name != "margin_ranking_loss"
            else (("input1", "input2"), ("input1", "target"))
        )
        for first, second in pairs:
            a, b = op.args.get(first), op.args.get(second)
            if (
                isinstance(a, Value)
                and isinstance(b, Value)
                and a.shape != b.shape
                and b.numel != 1
                and a.numel != 1
            ):
                self._tell(op, a, b, op.written(first), op.written(second))
                return

    def _difference(self, op: Op) -> None:
        """A loss written out: one column that a model predicts, beside several of the data."""
        if len(op.inputs) != 2 or not op.grad_enabled or self.step > 64:
            return
        for predicted, target in (op.inputs, op.inputs[::-1]):
            if (
                predicted.requires_grad
                and not target.requires_grad
                and predicted.ndim == target.ndim >= 2
                and 1 in (predicted.shape[-1], target.shape[-1])
                and predicted.shape[-1] != target.shape[-1]
                and predicted.shape[:-1] == target.shape[:-1]
                and predicted.shape[0] > 1
                and len(self._expanded) < 64
            ):
                self._expanded[op.number] = op, predicted, target

    def on_backward_begin(self, event: Backward) -> None:
        """Whether such a difference is what is trained with, and the column all that the model
        gives.
        """
        held, self._expanded = self._expanded, {}
        if not held:
            return
        graph = list(ancestors(event.roots, limit=500))
        for made in graph:
            op, predicted, target = held.get(made.number, (None, None, None))
            producer = predicted.producer if predicted is not None else None
            if (
                op is None
                or predicted is None
                or target is None
                or producer is None
                or producer.module is None
            ):
                continue
            root = producer.module.root
            if not any(v.number == predicted.number for v in root.outputs) or producer.name not in (
                "linear",
                "addmm",
                "conv1d",
            ):
                continue
            if predicted.shape[-1] > 1:
                if alike(op, predicted.shape[-1], graph):
                    self.report(
                        op.site,
                        f"the model predicts {predicted.shape[-1]} columns, {list(predicted.shape)}, and all of them are compared with the same "
                        f"column of the data, {list(target.shape)}.",
                        evidence={
                            "prediction": list(predicted.shape),
                            "target": list(target.shape),
                        },
                        fix=f"give the loss a target of {predicted.shape[-1]} columns, or predict one",
                    )
                continue
            written = producer.module.made.call if producer.module.made is not None else None
            sizes = written.arguments if written is not None else []
            layer = producer.module.made if len(sizes) > 1 and sizes[1].isdigit() else None
            self.report(
                layer or self.session.recorder.names.asked_at(root.module) or op.site,
                f"the model predicts one column, {list(predicted.shape)}, and the loss compares it with {target.shape[-1]} columns of the data, "
                f"{list(target.shape)}: the same prediction is compared with each of them.",
                evidence={
                    "compared_at": op.site,
                    "prediction": list(predicted.shape),
                    "target": list(target.shape),
                },
                fix=f"make the model predict {target.shape[-1]} columns, or compare with the intended column",
            )

    def on_error(self, failure: Failure) -> None:
        """Losses that refuse such shapes: the exception is explained."""
        if failure.op is not None and failure.op.name in ELEMENTWISE_LOSSES:
            self.on_op(failure.op)

    def _tell(self, op: Op, a: Value, b: Value, name_a: str | None, name_b: str | None) -> None:
        name_a, name_b = name_a or "the prediction", name_b or "the target"
        how = (
            repair(a, b, name_a, name_b)
            or f"make {name_b} the shape of {name_a}, or expand it on purpose with `expand_as`"
        )
        result = (
            " they are broadcast against each other."
            if op.output is not None
            else " the shapes must match."
        )
        self.report(
            op.site,
            f"{op.name} compares {name_a} of shape {list(a.shape)} with {name_b} of shape {list(b.shape)};{result}",
            evidence={"loss": op.name, "input": list(a.shape), "target": list(b.shape)},
            fix=how,
        )
