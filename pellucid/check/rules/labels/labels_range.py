"""Labels outside the range that a loss is defined for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import VIEWS, Backward, Converted, Failure, Op, Site, Value, lineage, made_by
from ...rule import Rule, distinct
from ..losses.origin import Sampled, origin
from ..losses.output_range import BOUNDED, RANGES
from ..source.origins import written_at
from ..source.places import Place, tree, walk
from .labels import BINARY, CLASS_LOSSES, REGRESSION, class_axis_of, named

_LOOKS = 12  # at each embedding
_FILLED = 0.05  # of the labels


class LabelRange(Rule):
    """Labels outside of what the loss is defined for."""

    slug = "label-range"
    id = "PL209"
    severity = "error"
    summary = "labels out of the range of the loss"
    ops = (
        *BINARY,
        *CLASS_LOSSES[:2],
        "pad_sequence",
        "embedding",
        "soft_margin_loss",
        "hinge_embedding_loss",
        "margin_ranking_loss",
        "cosine_embedding_loss",
        "poisson_nll_loss",
        "ctc_loss",
        "multilabel_soft_margin_loss",
        *REGRESSION,
        "getitem",
        "clamp",
        "clamp_max",
        "clip",
    )

    def __init__(self) -> None:
        self._sampled = Sampled()
        # (place, highest, how many were above it, of how many)
        self._limits: list[tuple[Any, int, int, int]] = []
        self._seen: dict[
            Any, tuple[int, set[int], list[int]]
        ] = {}  # by place of a loss: (classes, those that labels are of, labels)
        # by place of a loss: looks at which it counted filled-up places
        self._fillings: dict[Any, int] = {}
        # of the embeddings of this step: where their tokens are filled up, which tensor these are
        # (a part of), their padding
        self._tokens: list[tuple[int, Any, int, int]] = []
        self._embedded: dict[Any, int] = {}  # by place: how often it was looked at
        self._signs: dict[
            Site | None, Any
        ] = {}  # by place of a loss: where its labels were made, asked while that is known
        # by id of labels that were filled up: where, with what, how many places
        self._padded: dict[int, tuple[Any, int, int]] = {}
        # by number: scores that were taken with negative class indices
        self._from_end: dict[int, tuple[Op, int, int]] = {}

    def on_backward_begin(self, event: Backward) -> None:
        """`logp[rows, y]` with -1 among the classes takes the last class, unless a mask takes it
        out again.
        """
        if not self._from_end:
            return
        waiting = [v.producer for v in event.roots]
        for _ in range(40):
            op = waiting.pop() if waiting else None
            if op is None:
                continue
            if op.number in self._from_end:
                taken, low, count = self._from_end[op.number]
                self.report(
                    taken.site,
                    f"{count} of the class indices here are negative, down to {low}: they count from the end and select the last classes.",
                    evidence={"min": low, "negative": count},
                    fix="skip rows without a label: `keep = y >= 0`, or use cross_entropy with ignore_index",
                )
            elif (
                op.name in ("neg", "mean", "sum", "div", "add", "sub", "mul")
                and len([v for v in op.inputs if v.numel > 1]) <= 1
            ):
                waiting += [v.producer for v in op.inputs]
        self._from_end.clear()

    def _taken(self, op: Op) -> None:
        index, scores = op.args.get("index"), op.inputs[0] if op.inputs else None
        if (
            not isinstance(index, tuple)
            or len(index) != 2
            or scores is None
            or scores.ndim != 2
            or not scores.requires_grad
        ):
            return
        labels = index[1]
        array = (
            labels.numpy()
            if isinstance(labels, Value)
            and isinstance(index[0], Value)
            and not labels.is_floating_point
            else None
        )
        if (
            array is not None
            and array.size
            and array.dtype.kind == "i"
            and array.min() < 0
            and len(self._from_end) < 64
        ):
            self._from_end[op.number] = op, int(array.min()), int((array < 0).sum())

    def _pads(self, op: Op) -> None:
        """Labels of different lengths, filled up with a number that is a class."""
        out, number = op.output, op.args.get("padding_value", 0)
        lengths = {v.shape[0] for v in op.inputs if v.ndim}
        if (
            out is None
            or out.is_floating_point
            or len(lengths) < 2
            or not isinstance(number, (int, float))
        ):
            return
        arrays = [a for v in op.inputs if (a := v.numpy()) is not None]
        real = sum(int((a == number).sum()) for a in arrays)
        if real >= 2 and real > 0.02 * sum(a.size for a in arrays):
            if len(self._padded) > 64:
                self._padded.clear()
            self._padded[out.id] = op.site, int(number), out.numel - sum(a.size for a in arrays)

    def _class_left_out(self, op: Op) -> None:
        """`ignore_index` that is a class of single labels; padding that is one, and that the loss
        does not ignore.
        """
        target, scores, ignored = (
            op.args.get("target"),
            op.args.get("input"),
            op.args.get("ignore_index"),
        )
        if (
            not isinstance(target, Value)
            or not isinstance(scores, Value)
            or target.is_floating_point
            or not isinstance(ignored, int)
        ):
            return
        value, whole = target, target.ndim == 1
        for _ in range(20):
            padded = self._padded.get(value.id)
            if padded is not None:
                if (
                    padded[1] != ignored
                    and op.args.get("reduction") != "none"
                    and op.args.get("weight") is None
                ):
                    self.report(
                        padded[0],
                        f"shorter rows are padded with {padded[1]} here, which is a class among these labels: {op.name} counts "
                        f"{padded[2]} padded positions as that class.",
                        evidence={"padding": padded[1], "places": padded[2], "loss_at": op.site},
                        fix=f"pad with a number that is not a class, `padding_value={ignored if ignored < 0 else -100}`, which the loss ignores",
                    )
                return
            made = value.producer
            whole = whole and value.ndim == 1
            if made is None or made.name not in VIEWS or not made.inputs:
                break
            value = made.inputs[0]
        if not whole or ignored < 0 or scores.ndim != 2 or ignored >= scores.shape[1]:
            return
        array = target.numpy()
        count = int((array == ignored).sum()) if array is not None else 0
        if array is not None and array.size >= 8 and count >= 2 and distinct(array).size > 1:
            written = op.site if op.direct or op.module is None else op.module.made or op.site
            place = (
                written_at(written, "ignore_index", 2 if not op.direct else 4)
                if written is not None
                else None
            )
            self.report(
                place or written,
                f"the loss ignores class {ignored}, and {count} of {array.size} labels have it: it is never learned.",
                evidence={
                    "ignore_index": ignored,
                    "labels": count,
                    "of": int(array.size),
                    "loss_at": op.site,
                },
                fix="give `ignore_index` a number that is not a class (-100, the default)",
                severity="warning",
            )

    def _counted(self, op: Op) -> None:
        """Labels at places where the model's own input is only filled up: no labels, and the loss
        counts them.
        """
        target, scores, weight = op.args.get("target"), op.args.get("input"), op.args.get("weight")
        if (
            not isinstance(target, Value)
            or not isinstance(scores, Value)
            or target.is_floating_point
            or target.numel < 8
            or self._fillings.get(op.site, 0) >= 2
        ):
            return
        made = next(
            (
                o
                for o in lineage(scores, VIEWS | {"log_softmax", "cat", "stack"}, 40)
                if o.module is not None
            ),
            None,
        )
        labels = target.numpy()
        if labels is None or op.args.get("reduction") == "none":
            return
        inputs = made.module.root.inputs[:2] if made is not None and made.module else ()
        for filled, padding in self._filled(op, target, labels, inputs):
            if labels.ndim == 2 and labels.shape != filled.shape:
                continue
            labels = labels.reshape(filled.shape)
            there = distinct(labels[filled])
            weights = weight.numpy() if isinstance(weight, Value) else None
            if (
                len(there) != 1
                or there[0] == op.args.get("ignore_index")
                or weights is not None
                and not weights[int(there[0])]
            ):
                continue
            looks = self._fillings[op.site] = self._fillings.get(op.site, 0) + 1
            number, count = int(there[0]), int(filled.sum())
            if looks < 2:
                return
            alone = number == padding or not (labels[~filled] == number).any()
            loss = op.site if op.direct or op.module is None else op.module.made or op.site
            self.report(
                loss if alone else _filled_at(target) or loss,
                f"{count} of {labels.size} labels are at padded positions of the input, and all are {number}: {op.name} counts them as "
                "labels of that class.",
                evidence={
                    "label": number,
                    "places": count,
                    "of": int(labels.size),
                    "loss_at": op.site,
                },
                fix=f"`ignore_index={number}`, since no real label is {number}"
                if alone
                else "pad the labels with -100, which the loss ignores",
            )
            return

    def _embeds(self, op: Op) -> None:
        """Tokens that are looked up: which of them are padding?"""
        padding, looks = op.args.get("padding_idx"), self._embedded.get(op.site, 0)
        tokens = next((v for v in op.inputs if not v.is_floating_point), None)
        if not isinstance(padding, int) or padding < 0 or tokens is None or tokens.ndim != 2:
            return
        array = tokens.numpy() if looks < _LOOKS and op.grad_enabled else None
        filled = filled_up(array) if array is not None else None
        if filled is not None and (array[filled] == padding).all():
            self._embedded[op.site] = looks + 1
            now = [held for held in self._tokens[-3:] if held[0] == op.step]
            self._tokens = [*now, (op.step, filled, _whole(tokens).id, padding)]

    def _filled(
        self, op: Op, target: Value, labels: Any, inputs: Any
    ) -> Iterator[tuple[Any, int | None]]:
        """(which of the labels stand for padding, its number where no label can be that)."""
        whole = _whole(target).id
        for step, filled, base, padding in self._tokens:
            if step != op.step:
                continue
            if base == whole:  # the tokens themselves are to be told
                there = labels == padding
                if there.mean() >= _FILLED:
                    yield there, padding
            elif filled.size == target.numel:
                yield filled, None
        for value in inputs:
            if (
                value.ndim >= 2
                and not value.requires_grad
                and value.shape[0] * value.shape[1] == target.numel
                and value.shape[1] >= 2
            ):
                array = value.numpy()
                filled = None if array is None else filled_up(array)
                if filled is not None:
                    yield filled, None

    # ---- numbers that were limited until they fitted -----------------------------------------------------------------------
    def on_clipped(self, event: Converted) -> None:
        """NumPy's `clip` of whole numbers that changes some."""
        before, after = event.before, event.after
        if (
            before.dtype.kind in "iu"
            and after.dtype.kind in "iu"
            and before.shape == after.shape
            and after.size
        ):
            self._limited(event.site, before, after)

    def _limited(self, site: Any, before: Any, after: Any) -> None:
        changed = int((before > after).sum())
        if changed and after.min() == 1 and len(self._limits) < 16:
            self._limits.append((site, int(after.max()), changed, after.size))

    def _classes(self, op: Op) -> None:
        """Which classes the labels are of, when some whole numbers were limited."""
        scores, target = op.args.get("input"), op.args.get("target")
        array = (
            target.numpy() if isinstance(target, Value) and not target.is_floating_point else None
        )
        if (
            array is None
            or not array.size
            or not isinstance(scores, Value)
            or scores.ndim != 2
            or op.args.get("ignore_index", -100) >= 0
        ):
            return
        held = self._seen.setdefault(op.site, (scores.shape[1], set(), [0]))
        held[1].update(distinct(array).tolist())
        held[2][0] += array.size

    def finish(self) -> None:
        """No label is ever of class 0, and numbers above the last class were made the last."""
        for site, highest, changed, size in self._limits:
            for classes, seen, count in self._seen.values():
                if (
                    classes > 2
                    and highest == classes - 1
                    and seen == set(range(1, classes))
                    and count[0] >= 64
                ):
                    self.report(
                        site,
                        f"{changed} of {size} numbers are clamped to {highest} here, the last of {classes} classes, and no label is ever 0: they "
                        "count from 1, and the last two classes become one.",
                        evidence={
                            "limited": changed,
                            "of": size,
                            "classes": classes,
                            "labels": count[0],
                        },
                        fix="count from 0: subtract 1 instead of clamping",
                    )
                    return

    def _beyond(self, op: Op) -> None:
        """Targets that a squashed prediction can never reach."""
        scores, target = op.args.get("input"), op.args.get("target")
        if (
            not isinstance(scores, Value)
            or not isinstance(target, Value)
            or not scores.requires_grad
            or not self._sampled.due(op.site)
        ):
            return
        made = scores.producer
        while made is not None and made.name in VIEWS and made.inputs:
            made = made.inputs[0].producer
        if made is None or made.name not in BOUNDED:
            return
        low, high = RANGES[made.name]
        array = target.numpy()
        if array is None or array.size < 8 or array.dtype.kind not in "fiu":
            return
        outside = float(np.mean((array < low - 0.1) | (array > high + 0.1)))
        if outside >= 0.25:
            name = named(op, "target", "the target")
            self._tell(
                op,
                array,
                f"the prediction comes from {made.name}, which stays between {low:g} and {high:g}, and {outside:.0%} of {name} lie outside",
                f"scale {name} to {low:g}..{high:g}, or leave {made.name} out",
            )

    def on_error(self, failure: Failure) -> None:
        """Class numbers that do not exist."""
        op = failure.op
        if op is None:
            return
        if op.name in BINARY:
            self._zero_to_one(op)
            return
        scores = op.args.get("input", op.args.get("tensor"))
        if not isinstance(scores, Value):
            return
        if op.name in CLASS_LOSSES:
            target = op.args.get("target")
            if (
                not isinstance(target, Value)
                or target.shape != scores.shape[:1] * (scores.ndim > 1) + scores.shape[2:]
            ):
                return
            classes, ignored = scores.shape[class_axis_of(scores)], op.args.get("ignore_index")
        elif op.name == "one_hot":
            target, classes, ignored = scores, op.args.get("num_classes"), None
        elif (
            op.name == "gather"
            and origin(scores) is not None
            and op.args.get("dim") in (-1, scores.ndim - 1)
        ):
            target, classes, ignored = op.args.get("index"), scores.shape[-1], None
        elif op.name == "getitem" and origin(scores) is not None and scores.ndim == 2:
            index = op.args.get("index")
            if not isinstance(index, tuple) or len(index) != 2:
                return
            target, classes, ignored = index[1], scores.shape[1], None
        else:
            return
        if (
            not isinstance(target, Value)
            or target.is_floating_point
            or not isinstance(classes, int)
            or classes < 1
        ):
            return
        array = target.numpy()
        if array is None or not array.size:
            return
        wrong = (array < 0) | (array >= classes)
        if isinstance(ignored, int):
            wrong &= array != ignored
        if not wrong.any():
            return
        lowest, highest = int(array.min()), int(array.max())
        argument = {"one_hot": "tensor", "gather": "index"}.get(op.name, "target")
        name = named(op, argument, "the labels") if op.name != "getitem" else "the labels"
        if lowest >= 1 and highest == classes:
            fix = f"count classes from 0: `{name} - 1`"
        elif lowest < 0 and isinstance(ignored, int):
            fix = f"give the loss `ignore_index={int(array[array < 0].max())}` if such labels mean 'no label'"
        else:
            fix = f"make the last layer output {highest + 1} scores, or map the labels to 0..{classes - 1}"
        self.report(
            op.site,
            f"{op.name} has {classes} classes, 0 to {classes - 1}, and {name} goes from {lowest} to {highest}.",
            evidence={
                "min": lowest,
                "max": highest,
                "classes": classes,
                "wrong": int(wrong.sum()),
                "of": int(array.size),
            },
            fix=fix,
        )

    def on_op(self, op: Op) -> None:
        """Losses that take any number and give nonsense."""
        if op.name == "getitem":
            self._taken(op)
            return
        if op.name == "embedding":
            self._embeds(op)
            return
        if op.name in ("clamp", "clamp_max", "clip"):
            x, out = op.inputs[0] if op.inputs else None, op.output
            if (
                x is not None
                and out is not None
                and not x.is_floating_point
                and not op.inplace
                and x.ndim == 1
                and x.alive
            ):
                before, after = x.numpy(), out.numpy()
                if before is not None and after is not None and after.size:
                    self._limited(op.site, before, after)
            return
        if op.name in CLASS_LOSSES and self._limits:
            self._classes(op)
        if op.name in REGRESSION:
            self._beyond(op)
            return
        if op.name == "pad_sequence":
            self._pads(op)
            return
        if not self._sampled.due(op.site):
            return
        if op.name in CLASS_LOSSES:
            self._class_left_out(op)
            self._counted(op)
            return
        if op.name in BINARY:
            if op.args.get("reduction") != "none":
                self._zero_to_one(op)
            return
        target = op.args.get("targets" if op.name == "ctc_loss" else "target")
        array = target.numpy() if isinstance(target, Value) else None
        if array is None or not array.size:
            return
        name = named(op, "target", "the target")
        if op.name == "poisson_nll_loss":
            if array.min() < 0:
                self._tell(
                    op,
                    array,
                    f"{name} are counts, which start at 0",
                    "use a loss for real numbers, such as mse_loss",
                )
        elif op.name == "ctc_loss":
            self._blank(op, array)
        elif op.name == "multilabel_soft_margin_loss":
            if array.min() < 0 or array.max() > 1:
                self._tell(
                    op, array, f"{name} must lie between 0 and 1", "encode the labels as 0 and 1"
                )
        elif array.min() == 0 and np.all((array == 0) | (array == 1)):
            self._tell(
                op,
                array,
                f"{name} must be -1 or 1: the loss ignores a label of 0",
                f"give it `2 * {name} - 1`",
                self._made(op, target, {0, 1}),
            )

    def _zero_to_one(self, op: Op) -> None:
        target = op.args.get("target")
        array = target.numpy() if isinstance(target, Value) else None
        if (
            array is None
            or not array.size
            or array.dtype.kind not in "fiub"
            or (array.min() >= -1e-5 and array.max() <= 1 + 1e-5)
        ):
            return
        weight = op.args.get("weight")
        weights = weight.numpy() if isinstance(weight, Value) else None
        if weights is not None and weights.shape == array.shape:
            kept = array[weights != 0]
            if not kept.size or kept.min() >= 0 and kept.max() <= 1:
                return
        name = named(op, "target", "the target")
        values = distinct(array[:1000])
        if values.size == 2 and values[0] == -1 and values[1] == 1:
            fix = f"encode the labels as 0 and 1: `({name} + 1) / 2`"
        elif values.size == 2:
            fix = f"encode the labels as 0 and 1: `({name} == {values[1]:g}).float()`"
        elif (
            array.min() >= 0
            and np.all(array == np.floor(array))
            and array.max() < 1000
            and array.max() != 255
        ):
            fix = "for class indices use cross_entropy, or one column per class of 0 and 1"
        else:
            fix = f"scale {name} to 0..1 first" + (
                f": `{name} / 255`" if array.max() == 255 else ""
            )
        self._tell(
            op,
            array,
            f"{name} must lie between 0 and 1",
            fix,
            self._made(op, target, set(values.tolist())),
        )

    def _made(self, op: Op, target: Any, values: set[float]) -> Any:
        """Where labels of two values were made."""
        if op.site not in self._signs:
            made: Any = None
            if len(values) == 2:
                files = self.session.recorder.files(self.session.script)
                made = _signs_made(target) or _made_of_samples(files, target, values)
            self._signs[op.site] = made
        return self._signs[op.site]

    def _blank(self, op: Op, array: Any) -> None:
        blank, scores = op.args.get("blank", 0), op.args.get("log_probs")
        lengths = op.args.get("target_lengths")
        lengths = (
            lengths.numpy()
            if isinstance(lengths, Value)
            else np.asarray(lengths)
            if isinstance(lengths, (tuple, list))
            else None
        )
        if lengths is None or not isinstance(scores, Value):
            return
        used = (
            np.concatenate([row[:n] for row, n in zip(array, lengths, strict=False)])
            if array.ndim == 2
            else array
        )
        if used.size and (np.any(used == blank) or used.max() >= scores.shape[-1]):
            self._tell(
                op,
                used,
                f"symbol {blank} is the blank, and there are {scores.shape[-1]} symbols including it",
                "number the symbols so that the blank's number is free",
            )

    def _tell(self, op: Op, array: Any, what: str, fix: str, made: Any = None) -> None:
        lowest, highest = float(array.min()), float(array.max())
        self.report(
            made or op.site,
            f"{op.name}: {what}; {'the labels made here' if made is not None else 'here the labels'} go from {lowest:g} to {highest:g}.",
            evidence={
                "loss": op.name,
                "loss_at": op.site,
                "min": lowest,
                "max": highest,
                "shape": list(array.shape),
            },
            fix=fix,
        )


def filled_up(array: Any) -> Any:
    """Where the rows of a batch are filled up at their ends to one length; None for rows that are
    not, or all equally far.
    """
    if array.ndim == 2 and array.dtype.kind in "iu":
        same = array == array[:, -1:]
        ends = array[:, -1]
        number = (
            np.bincount(ends - ends.min()).argmax() + ends.min()
            if ends.size and np.ptp(ends) < 1 << 20
            else None
        )
        same = array == number if number is not None else None
    elif array.ndim == 3 and array.dtype.kind == "f":
        same = (array == 0).all(-1)
    else:
        return None
    if same is None or not same.any():
        return None
    end = np.flip(np.logical_and.accumulate(np.flip(same, 1), 1), 1)
    lengths = distinct(end.sum(1))
    if (
        (same != end).any()
        or len(lengths) < 3
        or lengths[0] != 0
        or end.mean() < 0.05
        or lengths[-1] == array.shape[1]
    ):
        return None
    return end


def _whole(value: Value) -> Value:
    """What a value is a part of, or another arrangement of."""
    for _ in range(8):
        made = value.producer
        if made is None or made.name not in VIEWS or not made.inputs:
            break
        value = made.inputs[0]
    return value


def _filled_at(target: Value) -> Any:
    """Where labels were made full of one number, and written over later."""
    for made in lineage(target, VIEWS | {"setitem", "copy", "cat", "stack"}, 4096):
        if made.name in (
            "full",
            "zeros",
            "ones",
            "zeros_like",
            "full_like",
            "new_zeros",
            "new_full",
            "pad_sequence",
            "pad",
        ):
            return made.site
    return None


def _signs_made(target: Any) -> Site | None:
    """Where the user's code made labels of two values out of something else, for this loss alone as
    far as is known.
    """
    made = made_by(target) if isinstance(target, Value) else None
    return (
        made.site
        if made is not None and made.direct and made.name in ("where", "sign", "sgn")
        else None
    )


def _made_of_samples(files: list[str], target: Any, values: set[float]) -> Place | None:
    """The only line of a data set's `__getitem__` that chooses between two numbers, when the labels
    are from a loader.
    """
    made = made_by(target)
    if made is not None and (made.direct or made.name not in ("tensor", "as_tensor", "stack")):
        return None  # PyTorch's loaders are seen to put samples together
    found = []
    for file in files:
        root = tree(file)
        for function in walk(root) if root is not None else ():
            if isinstance(function, ast.FunctionDef) and function.name == "__getitem__":
                for node in ast.walk(function):
                    if isinstance(node, ast.IfExp) and _numbers(node) == values:
                        found.append(Place(file, node.lineno))
    return found[0] if len(found) == 1 else None


def _numbers(choice: ast.IfExp) -> set[float]:
    try:
        return {float(ast.literal_eval(part)) for part in (choice.body, choice.orelse)}
    except (ValueError, TypeError):
        return set()
