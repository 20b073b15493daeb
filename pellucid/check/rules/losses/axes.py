"""Softmax over the wrong axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import ARITHMETIC, VIEWS, Op, Site, Value, lineage
from ...rule import Rule, cause_site
from ..source.origins import written_at
from .origin import SOFTMAXES, Sampled, is_index, is_normalised


class SoftmaxWrongDim(Rule):
    """A softmax over the batch, over time, or over an axis of one."""

    slug = "softmax-wrong-dim"
    id = "PL206"
    severity = "error"
    summary = "softmax over the wrong axis"
    ops = (
        "nll_loss",
        "gather",
        "getitem",
        "argmax",
        "max",
        "topk",
        "matmul",
        "bmm",
        "einsum",
        "softmax",
        "log_softmax",
        "softmin",
        "cross_entropy",
        "mul",
        "sum",
        "kl_div",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "binary_cross_entropy",
    )

    def __init__(self) -> None:
        self._single: dict[int, tuple[Site | None, str, list[int], int]] = {}
        # by place of a cross entropy with one class: the last time, and whether it was the first
        self._alone: dict[Site | None, tuple[Any, Value, bool]] = {}
        self._several: set[Site | None] = set()  # places where there were several
        self._sampled = Sampled()
        self._both: set[Any] = set()  # (id of the scores, axis) of every softmax
        self._doubted: list[tuple[int, int, Op, str, str]] = []

    def on_op(self, op: Op) -> None:
        """See which axis the probabilities are used along."""
        name = op.name
        if name in ("softmax", "log_softmax", "softmin"):
            self._over_one(op)
            value = op.args.get("input")
            if isinstance(value, Value):
                if len(self._both) > 4096:
                    self._both.clear()
                self._both.add((value.number, _axis(op)))
        elif name == "cross_entropy":
            self._one_class(op)
        elif name == "nll_loss":
            self._in_loss(op)
        elif name in ("argmax", "max", "topk"):
            self._chosen(op)
        elif name in ("mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy"):
            self._beside_rows(op)
        elif name in ("matmul", "bmm"):
            self._attention(op)
        elif name == "einsum":
            self._einsum(op)
        elif name == "kl_div":
            self._compared(op)
        elif name == "sum":
            self._weighted(op)
        elif op.inputs:
            self._picked(op)

    # ---- an axis of one -------------------------------------------------------------------------------------------------
    def _over_one(self, op: Op) -> None:
        value, axis = op.args.get("input"), _axis(op)
        if (
            not isinstance(value, Value)
            or axis is None
            or value.shape[axis] != 1
            or value.numel == 1
        ):
            return
        made = next(
            (o for o in lineage(value, _THROUGH) if o.name in ("linear", "addmm", "matmul")), None
        )
        out = made.output if made is not None else None
        if made is None or made.name != "linear" or not op.grad_enabled:
            return
        if axis == value.ndim - 1 and (out is None or out.shape[-1] == 1):
            self.report(
                cause_site(op),
                f"{op.name} over an axis of one element (dim={op.args.get('dim')} of {list(value.shape)}) gives "
                f"{'1' if op.name == 'softmax' else '0'} everywhere, whatever the input.",
                evidence={
                    "dim": op.args.get("dim"),
                    "shape": list(value.shape),
                    "made_by": str(made.site),
                },
                fix="for one score per row use a sigmoid; for weights over positions use the axis of the positions",
            )

    def _one_class(self, op: Op) -> None:
        """Cross entropy makes a softmax of its own. Where there are more classes at other times,
        there is nothing to compare with yet: the queue of negatives is empty.
        """
        value = op.args.get("input")
        if not isinstance(value, Value) or value.ndim != 2 or not value.requires_grad:
            return
        if value.shape[1] != 1:
            self._several.add(op.site)
            self._alone.pop(op.site, None)
        elif value.shape[0] > 1 and op.site not in self._several:
            first = op.site not in self._alone
            self._alone[op.site] = cause_site(op), value, first
            if not first:
                self._told_one_class(op.site)

    def finish(self) -> None:
        """Losses that were computed once."""
        for site, (_, _, first) in self._alone.items():
            if first:
                self._told_one_class(site)

    def _told_one_class(self, site: Site | None) -> None:
        place, value, _ = self._alone[site]
        self.report(
            place,
            f"cross_entropy over one class (scores of shape {list(value.shape)}): its softmax is 1 for every row, so the loss does "
            "not depend on the model.",
            evidence={"shape": list(value.shape), "loss_at": str(site)},
            fix="one score for each class, or `nn.BCEWithLogitsLoss()` for one score per row",
        )

    # ---- losses and choices ---------------------------------------------------------------------------------------------
    def _in_loss(self, op: Op) -> None:
        value = op.args.get("input")
        if (
            not isinstance(value, Value)
            or value.ndim < 2
            or value.shape[0] < 2
            or value.shape[1] < 2
            or not self._sampled.due(op.site)
        ):
            return
        made = next(
            (o for o in lineage(value, _THROUGH) if o.name in ("log_softmax", "softmax")), None
        )
        passed = list(lineage(value, _THROUGH))
        if made is None or made.name == "softmax" and not any(o.name == "log" for o in passed):
            return
        if any(_mixes(o) for o in passed) or is_normalised(value):
            return
        self._tell(
            made,
            f"nll_loss reads classes along dim 1 of {list(value.shape)}, where they do not sum to one",
            op,
        )

    def _compared(self, op: Op) -> None:
        value = op.args.get("input")
        if isinstance(value, Value) and value.ndim == 2:
            self._along(op, value, 1, "kl_div compares rows")

    def _chosen(self, op: Op) -> None:
        value, dim = op.args.get("input"), op.args.get("dim")
        if isinstance(value, Value) and isinstance(dim, int) and value.ndim:
            self._along(op, value, dim % value.ndim, f"{op.name} chooses along dim {dim}")

    def _beside_rows(self, op: Op) -> None:
        """Targets that sum to one along an axis."""
        value, target = op.args.get("input"), op.args.get("target")
        if (
            not isinstance(value, Value)
            or not isinstance(target, Value)
            or value.shape != target.shape
            or value.ndim != 2
        ):
            return
        made, at = traced(value, 0)
        if (
            made is None
            or at != 0
            or made.name == "log_softmax"
            or _axis(made) not in (0, 1)
            or not self._sampled.due((op.site, "rows"))
        ):
            return
        array, axis = target.numpy(), 1 - int(_axis(made) or 0)
        if (
            array is not None
            and np.all(np.abs(array.sum(axis) - 1) < 1e-3)
            and np.any(np.abs(array.sum(1 - axis) - 1) > 1e-2)
        ):
            self._along(op, value, axis, f"the targets of {op.name} sum to one along dim {axis}")

    def _picked(self, op: Op) -> None:
        """`p[range, y]` and `p.gather(1, y)` pick classes."""
        value = op.args.get("input")
        if not isinstance(value, Value) or value.ndim < 2:
            return
        if op.name == "gather":
            axis = op.args.get("dim")
        elif op.name == "getitem":
            index = op.args.get("index")
            if not (
                isinstance(index, tuple) and len(index) == 2 and all(is_index(i) for i in index)
            ):
                return
            axis = 1
        else:
            return
        if isinstance(axis, int):
            self._along(
                op, value, axis % value.ndim, f"classes are picked along dim {axis % value.ndim}"
            )

    def _along(self, op: Op, value: Value, axis: int, use: str) -> None:
        """The softmax was over another axis than it is used along."""
        if value.ndim < 2 or not self._sampled.due(op.site):
            return
        made, at = traced(value, axis)
        if made is None or at is None:
            return
        over = _axis(made)
        scores = made.args.get("input")
        if (
            over is None
            or over == at
            or not isinstance(scores, Value)
            or scores.shape[at] < 2
            or scores.shape[over] < 2
        ):
            return
        self._doubted.append((scores.number, at, made, use, str(op.site)))
        self._settle()

    # ---- weights --------------------------------------------------------------------------------------------------------
    def _attention(self, op: Op) -> None:
        """`softmax(q @ k.T) @ v` sums over the last axis of the weights."""
        weights = op.args.get("input")
        if not isinstance(weights, Value) or weights.ndim < 2:
            return
        made, at = traced(weights, weights.ndim - 1, turned=False)
        if made is None or at is None:
            return
        over = _axis(made)
        scores = made.args.get("input")
        if (
            over is None
            or over == at
            or not isinstance(scores, Value)
            or not _of_two_activations(scores)
        ):
            return
        self._doubted.append(
            (scores.number, at, made, "the weighted sum runs over the last axis", str(op.site))
        )
        self._settle()

    def _einsum(self, op: Op) -> None:
        """The same, written as `einsum("bqk,bkd->bqd", weights, v)`."""
        given = [x for v in op.args.values() for x in (v if isinstance(v, (tuple, list)) else (v,))]
        equation = next((x for x in given if isinstance(x, str)), "")
        if "->" not in equation or len(op.inputs) != 2:
            return
        terms, result = equation.replace(" ", "").split("->")
        for term, weights in zip(terms.split(","), op.inputs, strict=False):
            summed = [k for k, letter in enumerate(term) if letter not in result]
            if len(summed) != 1 or len(term) != weights.ndim or "." in term:
                continue
            made, at = traced(weights, summed[0], turned=False)
            over, scores = (None, None) if made is None else (_axis(made), made.args.get("input"))
            if (
                made is None
                or at is None
                or over is None
                or over == at
                or not isinstance(scores, Value)
            ):
                continue
            # of both operands and the result
            batch = (
                at == summed[0] and over == 0 and term[0] in result and equation.count(term[0]) == 3
            )
            learned = batch and scores.shape[at] > 1 and scores.shape[0] > 1
            if not _of_two_activations(scores) and not (
                learned and any(o.name == "linear" for o in lineage(scores, _THROUGH))
            ):
                continue
            self._doubted.append(
                (scores.number, at, made, "the weighted sum runs over another axis", str(op.site))
            )
            self._settle()

    def _weighted(self, op: Op) -> None:
        """`(weights * values).sum(dim)`: weights over the batch."""
        value, dim = op.args.get("input"), op.args.get("dim")
        if (
            not op.direct
            and isinstance(value, Value)
            and isinstance(dim, int)
            and value.ndim == 2
            and op.module is None
        ):
            self._along(op, value, dim % value.ndim, f"the distribution runs along dim {dim}")
            return
        product = value.producer if isinstance(value, Value) else None
        if (
            product is None
            or product.name != "mul"
            or not isinstance(dim, int)
            or len(product.inputs) != 2
            or value.ndim < 2
        ):
            return
        for weights in product.inputs:
            if weights.ndim != value.ndim:
                continue
            made, at = traced(weights, dim % value.ndim)
            if made is None or at is None:
                continue
            over, scores = _axis(made), made.args.get("input")
            if (
                over != 0
                or at == 0
                or not isinstance(scores, Value)
                or scores.shape[at] < 2
                or scores.shape[0] < 2
            ):
                continue
            learned = next((o for o in lineage(scores, _THROUGH) if o.name == "linear"), None)
            if learned is not None:
                self._doubted.append(
                    (scores.number, at, made, f"the weighted sum runs over dim {dim}", str(op.site))
                )
                self._settle()

    def _settle(self) -> None:
        """Report, unless the same scores are also put through a softmax over the other axis
        (matching in both directions).
        """
        doubted, self._doubted = self._doubted, []
        for number, at, made, use, where in doubted:
            if (number, at) not in self._both:
                self._tell(made, use, None, where)

    def _tell(self, made: Op, use: str, loss: Op | None, where: str = "") -> None:
        value = made.args.get("input")
        shape = list(value.shape) if isinstance(value, Value) else []
        dim = made.args.get("dim")
        self.report(
            axis_at(made),
            f"{made.name} runs over dim {_axis(made)} of {shape}{' (no dim is given)' if dim is None else ''}, but {use}.",
            evidence={
                "dim": dim,
                "shape": shape,
                "used_at": where or str(loss.site if loss is not None else None),
            },
            fix=f"normalize over the classes or positions that belong together: use another `dim` for {made.name} (often -1)",
        )


def axis_at(op: Op) -> Any:
    """Where the axis of a softmax is written: the default of an argument, the call of a helper,
    else its own line.
    """
    site = cause_site(op)
    if site is None or op.args.get("dim") is None:
        return site
    return written_at(site, "dim", 1 if op.direct and not op.method else 0) or site


_THROUGH = VIEWS | {"dropout", "clamp", "masked_fill", "mul", "div", "log", "add", "neg", "mean"}


def _axis(op: Op) -> int | None:
    """The axis, counted from the front, that a softmax goes over."""
    value, dim = op.args.get("input"), op.args.get("dim")
    if not isinstance(value, Value) or value.ndim == 0:
        return None
    if dim is None:
        return 0 if value.ndim in (0, 1, 3) else 1
    return dim % value.ndim if isinstance(dim, int) else None


def _mixes(op: Op) -> bool:
    """A view that may not only put leading axes together."""
    if op.name not in ("view", "reshape", "view_as", "unflatten", "sum", "mean"):
        return False
    given, made = (op.inputs[0] if op.inputs else None), op.output
    return (
        given is None
        or made is None
        or given.shape[-1:] != made.shape[-1:]
        or made.ndim > given.ndim
    )


def _of_two_activations(scores: Value) -> bool:
    """Scores that are products of two things that the model computed: queries and keys."""
    for op in lineage(scores, VIEWS | {"mul", "div", "masked_fill", "add", "where", "dropout"}):
        if op.name in ("matmul", "bmm", "einsum", "baddbmm") and len(op.inputs) >= 2:
            return all(
                v.requires_grad and not v.is_leaf and not _leaf_view(v) for v in op.inputs[-2:]
            )
    return False


def _leaf_view(value: Value) -> bool:
    op = value.producer
    return (
        op is not None
        and op.name in VIEWS
        and bool(op.inputs)
        and (op.inputs[0].is_leaf or _leaf_view(op.inputs[0]))
    )


def traced(value: Value, axis: int, turned: bool = True) -> tuple[Op | None, int | None]:
    """The softmax that a value comes from, and which axis of it `axis` of the value is; (None,
    None) where that is not certain.
    """
    at = axis
    for _ in range(30):
        op = value.producer
        if op is None:
            break
        name = op.name
        if name in SOFTMAXES or name == "log_softmax":
            return op, at
        if not op.inputs:
            break
        before = op.inputs[0]
        if name in ("transpose", "t", "T", "mT"):
            if not turned:
                break
            first, second = (
                (op.args.get("dim0"), op.args.get("dim1")) if name == "transpose" else (-2, -1)
            )
            if (
                not isinstance(first, int)
                or not isinstance(second, int)
                or name == "T"
                and value.ndim != 2
            ):
                break
            first, second = first % value.ndim, second % value.ndim
            at = second if at == first else first if at == second else at
        elif name == "permute":
            dims = op.args.get("dims")
            if (
                not turned
                or not isinstance(dims, (tuple, list))
                or not all(isinstance(d, int) for d in dims)
            ):
                break
            at = dims[at] % before.ndim
        elif name == "unsqueeze":
            new = op.args.get("dim")
            if not isinstance(new, int) or at == new % value.ndim:
                break
            at -= at > new % value.ndim
        elif name == "squeeze" and isinstance(op.args.get("dim"), int):
            at += at >= op.args["dim"] % before.ndim if before.ndim > value.ndim else 0
        elif name == "getitem":
            index = op.args.get("index")
            index = index if isinstance(index, tuple) else (index,)
            if (
                not all(i is None or i is Ellipsis or i == slice(None) for i in index)
                or index.count(Ellipsis)
                or None not in index
            ):
                break
            place = index.index(None)
            if index.count(None) != 1 or at == place:
                break
            at -= at > place
        elif name in (
            "dropout",
            "to",
            "float",
            "double",
            "half",
            "bfloat16",
            "clone",
            "contiguous",
            "detach",
            "clamp",
            "masked_fill",
            "log",
            "neg",
        ) or (name in ARITHMETIC and len(op.inputs) == 1):
            if before.shape != value.shape:
                break
        elif before.shape != value.shape or name not in VIEWS:
            break
        value = before
    return None, None
