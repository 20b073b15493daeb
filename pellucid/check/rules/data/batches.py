"""Batches of unequal size in a mean."""

from __future__ import annotations

import ast
import re
import sys
from types import CodeType, FrameType
from typing import Any

from ...events import VIEWS, Op, Read, Site, Value, lineage
from ...recording.names import locals_of
from ...rule import Rule
from ..losses.counted import added_as_they_are
from ..losses.means import average_of, value_of
from ..source.places import Place, tree, walk

MEAN_LOSSES = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div "
    "poisson_nll_loss gaussian_nll_loss soft_margin_loss hinge_embedding_loss margin_ranking_loss cosine_embedding_loss multi_margin_loss "
    "multilabel_margin_loss multilabel_soft_margin_loss triplet_margin_loss".split()
)
_SAME = VIEWS | {"item"}


class _Run:
    """Means that were read at one place without an optimizer step between."""

    __slots__ = ("sizes", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self.sizes: list[int] = []


class PartialBatchMean(Rule):
    """The mean of batch means is not the mean over the data when the last batch is smaller."""

    slug = "partial-batch-mean"
    id = "PL902"
    severity = "warning"
    summary = "a mean of batch means with a smaller last batch, or of ratios of batches"
    ops = ("add", "mean")

    def __init__(self) -> None:
        self._runs: dict[Site, _Run] = {}
        self._ratios: dict[Site, tuple[int, list[float]]] = {}
        self._done: set[Site] = set()
        self._looked: set[Site] = set()

    def finish(self) -> None:
        """`total += math.exp(loss.item())`: a mean of exponentials is not the perplexity."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for n in walk(root) if root is not None else ():
                text = ""
                if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add):
                    text = ast.unparse(n.value)
                elif isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "append" and n.args:
                    kept = ast.unparse(n.func).removesuffix(".append")
                    if _averaged(root, kept):  # else it is a history
                        text = ast.unparse(n.args[0])
                if isinstance(n, (ast.AugAssign, ast.Call)) and _OF_A_LOSS.match(text):
                    self.report(
                        Place(file, n.lineno),
                        f"`{text}` is averaged over batches: the mean of exponentials is larger than the perplexity, which is the exponential of the "
                        "mean loss.",
                        evidence={"added": text},
                        fix="add up the losses, and take `math.exp(total / count)` once",
                    )

    def on_read(self, event: Read) -> None:
        """A mean over a batch becomes a number."""
        if event.how in ("item", "float", "numpy", "tolist", "array") and event.value.numel == 1:
            self._note(event.value, event.site, event.step)
            below = _below(event.value) if event.site not in self._done else None
            if below is not None and event.site is not None:
                self._ratio(event.site, below, event.step)

    def _ratio(self, site: Site, below: float, step: int) -> None:
        """F1 or precision of a batch: a ratio whose denominator differs from batch to batch."""
        run = self._ratios.get(site)
        if run is None or run[0] != step:
            run = self._ratios[site] = step, []
        run[1].append(below)
        if len(run[1]) >= 3 and max(run[1]) > 1.1 * min(run[1]):
            self._judge(site, run[1])

    def on_op(self, op: Op) -> None:
        """`total += loss` with tensors; means that are stacked."""
        if op.name == "add":
            value = op.args.get("other")
            if (
                isinstance(value, Value)
                and value.numel == 1
                and not value.requires_grad
                and op.direct
            ):
                self._note(value, op.site, op.step)
        elif op.site is not None and op.site not in self._done and op.arg("dim") is None:
            joined = op.inputs[0].producer if op.inputs else None
            if joined is None or joined.name not in ("stack", "cat", "hstack") or not op.direct:
                return
            sizes = [_size_of_mean(v) for v in joined.inputs]
            if (
                len(sizes) > 1
                and None not in sizes
                and len(set(sizes)) > 1
                and not joined.inputs[0].requires_grad
            ):
                self._stacked(op.site, [n for n in sizes if n is not None])

    def _note(self, value: Value, site: Site | None, step: int) -> None:
        if site is None or site in self._done:
            return
        mean = _size_of_mean(value)
        size = mean or _divided(value, site)
        if size is None:
            return
        if mean is not None and mean > 1 and site not in self._looked:
            self._looked.add(site)
            if self._by_rows(site, mean):
                return
        run = self._runs.get(site)
        if run is None or run.step != step:
            run = self._runs[site] = _Run(step)
        run.sizes.append(size)
        first = run.sizes[0]
        if size < first and len(run.sizes) > 1 and len(run.sizes) - run.sizes.count(first) == 1:
            self._judge(site, run.sizes)

    def _by_rows(self, site: Site, rows: int) -> bool:
        """Means that are added up as they are, and divided by a number of rows."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not site.code:
            frame = frame.f_back
        if frame is None:
            return False
        names = {**frame.f_globals, **locals_of(frame)}
        place = added_as_they_are(site.file, site.line, lambda node: value_of(node, names))
        if place is None:
            return False
        self._done.add(site)
        self.report(
            place,
            f"the mean of a batch of {rows} rows is added here, and the sum is divided by the "
            f"number of rows, so the result is about {rows} times too small.",
            evidence={"rows": rows, "mean_at": site},
            fix="multiply each mean by its number of rows, or divide by the number of batches",
        )
        return True

    def _judge(self, site: Site, sizes: list[int] | list[float]) -> None:
        """A smaller batch after full ones: is its mean put into a mean of means?"""
        self._done.add(site)
        frame: FrameType | None = sys._getframe(1)
        is_library = self.session.recorder.is_library
        depth, summed = 0, False
        while frame is not None and depth < 4:
            if not is_library(frame.f_code.co_filename):
                depth += 1
                names = {**frame.f_globals, **locals_of(frame)}
                found = average_of(frame.f_code.co_filename, frame.f_lineno, names, summed)
                inner = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
                if found.line is not None and found.code is not None:
                    site = Site(found.code, _first(found.code, found.line))
                    self._tell(site, found.text, found.added, sizes)
                    return
                if found.line is not None:
                    while frame.f_back is not None and (
                        frame.f_code.co_name in inner or is_library(frame.f_code.co_filename)
                    ):
                        frame = frame.f_back
                    self._tell(
                        Site(frame.f_code, _instruction(frame, found.line)),
                        found.text,
                        found.added,
                        sizes,
                    )
                    return
                if not found.returned:
                    return
                summed = found.summed
                # the same statement is read once, and not again from outside of its comprehension
                while summed and frame is not None and frame.f_code.co_name in inner:
                    frame = frame.f_back
            frame = frame.f_back if frame is not None else None

    def _stacked(self, site: Site, sizes: list[int]) -> None:
        call = site.call
        if call is None:
            return
        self._done.add(site)
        self._tell(site, call.text, None, sizes)

    def _tell(
        self, site: Site, text: str, added: str | None, sizes: list[int] | list[float]
    ) -> None:
        if isinstance(sizes[0], float):
            self.report(
                site,
                f"`{text}` is a mean of ratios of batches that are divided by different numbers ({min(sizes):g} to {max(sizes):g} so far): it is not "
                "the ratio over the data.",
                evidence={"divided_by": sizes[:6], "summed_up": added, "step": self.step},
                fix="add up the counts of all batches, and divide once: 2 * tp / (predicted + actual)",
            )
            return
        shown = sizes if len(sizes) <= 6 else [*sizes[:2], *sizes[-2:]]
        self.report(
            site,
            f"`{text}` is a mean of batch means, but the batches differ in size ({sizes[0]} "
            f"rows, the last {sizes[-1]}): a row of the last batch counts "
            f"{sizes[0] / sizes[-1]:.3g} times as much as the others.",
            evidence={
                "batches": len(sizes),
                "rows": sum(sizes),
                "sizes": shown,
                "summed_up": added,
                "step": self.step,
            },
            fix="add up `mean * rows` of each batch (or use reduction='sum') and divide by the number of rows",
        )


def _averaged(root: Any, name: str) -> bool:
    """Whether the mean of a list is taken."""
    means = (f"sum({name})", f"mean({name})", f"mean(torch.tensor({name}", f"tensor({name}).mean(")
    return any(
        isinstance(n, ast.Call) and ast.unparse(n).removeprefix("np.").startswith(means)
        for n in walk(root)
    )


def _instruction(frame: FrameType, line: int) -> int:
    """An instruction of the line."""
    return _first(frame.f_code, line) or frame.f_lasti


def _first(code: CodeType, line: int) -> int:
    """The first instruction of a line; 0 where there is none."""
    lines = (first for first, *_ in code.co_positions())
    return next((2 * k for k, first in enumerate(lines) if first == line), 0)


def _below(value: Value) -> float | None:
    """The denominator of a ratio of two counts over the rows of a batch; None of anything else."""
    op = value.producer
    if op is None or op.name != "div" or len(op.inputs) != 2 or value.requires_grad:
        return None
    above, below = ({o.name for o in _counts(v)} for v in op.inputs)
    if "sum" not in above or "sum" not in below or op.inputs[1].numel != 1:
        return None
    predicted = [o for o in _counts(op.inputs[1]) if o.name == "sum" and _predicts(o)]
    number = op.inputs[1].numpy()
    return float(number.reshape(-1)[0]) if predicted and number is not None else None


def _counts(value: Value) -> list[Op]:
    return list(lineage(value, frozenset(("add", "clamp", "mul", "maximum", "float", "to")), 12))


def _predicts(op: Op) -> bool:
    """Whether a sum counts rows that were predicted: zeros and ones of a comparison."""
    given = op.inputs[0] if op.inputs else None
    if given is None or given.ndim == 0 or given.numel != given.shape[0]:
        return False
    names = {o.name for o in lineage(given, _SAME | {"mul", "float", "to", "long"}, 12)}
    return bool(names & {"gt", "ge", "lt", "le", "eq", "round", "argmax", "logical_and"})


def _divided(value: Value, site: Site) -> int | None:
    """The number of rows of a batch that a sum is divided by where it is read:
    `right.sum().item() / len(y)`.
    """
    op = value.producer
    if (
        op is None
        or op.name != "sum"
        or op.args.get("dim") is not None
        or not op.inputs
        or not op.inputs[0].ndim
    ):
        return None
    rows = op.inputs[0].shape[0]
    return rows if _SUM_BY_ROWS.search(site.text) and op.inputs[0].numel == rows else None


_OF_A_LOSS = re.compile(
    r"(math|np|numpy|torch)\.exp\((\w*(loss|nll|ce)\w*)(\.detach\(\))?(\.item\(\)\)|\)\.item\(\))( \* .+)?$"
)
_SUM_BY_ROWS = re.compile(
    r"sum\(\)(\.item\(\)|\))?\s*/\s*(len\(|[\w.]+\.(size\(0\)|shape\[0\]|numel\(\)))"
)


def _size_of_mean(value: Value) -> int | None:
    """The number of rows that a scalar is the mean over; None when it is none, or was weighted."""
    for _ in range(8):
        op = value.producer
        if op is None or not op.inputs:
            return None
        given = op.inputs[0]
        if (
            op.name == "mean"
            and op.args.get("dim") is None
            or op.name in MEAN_LOSSES
            and op.args.get("reduction") == "mean"
        ):
            return given.shape[0] if given.ndim else None
        if op.name not in _SAME:
            return None
        value = given
    return None
