"""Shapes that do not belong together: operands that expand each other, losses of unequal shapes."""

from __future__ import annotations

from collections.abc import Iterator

from ...events import VIEWS, Failure, Op, Value, lineage
from ...rule import Rule

ELEMENTWISE_LOSSES = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
    "poisson_nll_loss", "soft_margin_loss", "gaussian_nll_loss", "margin_ranking_loss", "hinge_embedding_loss",
)  # fmt: skip


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
    if a.ndim == b.ndim + 1 and a.shape[-1] == 1 and a.shape[:-1] == b.shape:
        return f"`{name_a}.squeeze(-1)` makes it {list(b.shape)} (or `{name_b}.unsqueeze(-1)` the other one {list(a.shape)})"
    if b.ndim == a.ndim + 1 and b.shape[-1] == 1 and b.shape[:-1] == a.shape:
        return f"`{name_b}.squeeze(-1)` makes it {list(a.shape)} (or `{name_a}.unsqueeze(-1)` the other one {list(b.shape)})"
    return f"`{name_b}.view_as({name_a})` if the elements are in the same order"


class MutualBroadcast(Rule):
    """Arithmetic between (B, 1) and (B,) gives (B, B): every element of one with every element of the other."""

    slug = "mutual-broadcast"
    id = "PL101"
    severity = "error"
    summary = "two operands expand each other in different axes"
    ops = (
        "add", "sub", "mul", "div", "pow", "floor_divide", "remainder", "fmod", "atan2", "maximum", "minimum", "eq", "ne", "lt", "le", "gt",
        "ge", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "where", "lerp", "isclose",
        "hypot", "logaddexp", "logaddexp2", "xlogy", "copysign", "float_power", "fmax", "fmin", "addcmul", "addcdiv",
    )  # fmt: skip

    def on_op(self, op: Op) -> None:
        """Two operands with the same elements in the same order but for an axis of 1, which both grow."""
        first, second = ("tensor1", "tensor2") if op.name in ("addcmul", "addcdiv") else ("input", "other")
        second = next((name for name in (second, "exponent", "end") if name in op.args), second)
        a, b = op.args.get(first), op.args.get(second)
        if isinstance(a, Value) and isinstance(b, Value) and b.ndim and a.ndim == b.ndim + 1 and op.name in ("sub", "div"):
            self._statistic(op, a, b)
        if not (isinstance(a, Value) and isinstance(b, Value)) or a.ndim == b.ndim or a.numel != b.numel:
            return
        grows_a, grows_b = expanded_axes(a.shape, b.shape)
        if not (grows_a and grows_b) or _without_ones(a.shape) != _without_ones(b.shape):
            return
        if _meant(op, a, b) or _is_grid(a) or _is_grid(b):
            return
        name_a, name_b = op.written(first) or "the first operand", op.written(second) or "the second operand"
        result = list(op.output.shape) if op.output is not None else []
        self.report(
            op.site,
            f"{name_a} of shape {list(a.shape)} and {name_b} of shape {list(b.shape)} expand each other to {result}: "
            "every element meets every other one, not its own partner.",
            evidence={"operation": op.name, "input": list(a.shape), "other": list(b.shape), "result": result},
            fix=f"give both the same shape: {repair(a, b, name_a, name_b)}",
        )

    def _statistic(self, op: Op, whole: Value, part: Value) -> None:
        """`x - x.mean(1)` of a square matrix: the mean of row i meets column i."""
        made = part.producer
        if made is not None and made.name in ("add", "clamp", "clamp_min", "sqrt") and made.inputs:
            made = made.inputs[0].producer
        dim = made.args.get("dim") if made is not None else None
        dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
        if made is None or made.name not in _REDUCTIONS or not isinstance(dim, int) or not made.inputs or not op.direct:
            return
        source = made.inputs[0]
        if source.shape != whole.shape or whole.shape[0] < 2 or part.shape != whole.shape[1:] or dim % whole.ndim == 0:
            return
        if source.number != whole.number and not any(
            o.name == "sub" and source in o.inputs for o in [whole.producer] if o is not None
        ):
            return
        name_a, name_b = op.written("input") or "the data", op.written("other") or "their statistic"
        self.report(
            op.site,
            f"{name_b} of shape {list(part.shape)} was taken along dim {dim} of {name_a} {list(whole.shape)}, and meets its last axis instead of "
            "its first: that goes unnoticed because the sizes are equal.",
            evidence={
                "operation": op.name,
                "statistic": made.name,
                "dim": dim,
                "input": list(whole.shape),
                "other": list(part.shape),
            },
            fix=f"keep the axis: `{made.name}({dim}, keepdim=True)`",
        )


_REDUCTIONS = frozenset("mean sum std var amax amin median norm logsumexp".split())


def _data(value: Value) -> Iterator[Op]:
    """The views that a value is of other data: what picks elements (the index of `gather`) is no data."""
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
    """Whether all pairs are wanted: the axis of 1 was put there in the user's code, as far as that is a sign of intent.

    An index with None, `x[:, None] - y`, always is. `unsqueeze`, `view` and `reshape` are when they stand on the same line or make
    the column of the very row that it meets; in a product, where outer products are common, wherever they stand.
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
        made.name in ("arange", "linspace", "logspace") for made in lineage(value, VIEWS | {"add", "mul", "div", "pow", "exp"})
    )


class LossShapeMismatch(Rule):
    """A loss compares element by element, so prediction and target must have the same shape."""

    slug = "loss-shape-mismatch"
    id = "PL102"
    severity = "error"
    summary = "a loss gets a prediction and a target of unequal shapes"
    ops = ELEMENTWISE_LOSSES

    def on_op(self, op: Op) -> None:
        """Shapes that differ by more than a target that is one number."""
        pairs = (("input", "target"),) if op.name != "margin_ranking_loss" else (("input1", "input2"), ("input1", "target"))
        for first, second in pairs:
            a, b = op.args.get(first), op.args.get(second)
            if isinstance(a, Value) and isinstance(b, Value) and a.shape != b.shape and b.numel != 1 and a.numel != 1:
                self._tell(op, a, b, op.written(first), op.written(second))
                return

    def on_error(self, failure: Failure) -> None:
        """Losses that refuse such shapes: the exception is explained."""
        if failure.op is not None and failure.op.name in self.ops:
            self.on_op(failure.op)

    def _tell(self, op: Op, a: Value, b: Value, name_a: str | None, name_b: str | None) -> None:
        name_a, name_b = name_a or "the prediction", name_b or "the target"
        how = repair(a, b, name_a, name_b) or f"make {name_b} the shape of {name_a}, or expand it on purpose with `expand_as`"
        result = " they are broadcast against each other." if op.output is not None else " it refuses them."
        self.report(
            op.site,
            f"{op.name} compares {name_a} of shape {list(a.shape)} with {name_b} of shape {list(b.shape)};{result}",
            evidence={"loss": op.name, "input": list(a.shape), "target": list(b.shape)},
            fix=how,
        )
