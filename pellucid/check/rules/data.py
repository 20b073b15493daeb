"""Data: batches of unequal size in a mean, the same rows in training and validation."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any

import numpy as np

from ..events import VIEWS, Backward, Batch, LoaderInfo, ModuleCall, Op, Read, Site, Value, ancestors
from ..names import locals_of
from ..rule import Rule
from .losses_means import average_of
from .origins import written_at

_MEAN_LOSSES = frozenset(
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
    summary = "a mean of batch means with a smaller last batch"
    ops = ("add", "mean")

    def __init__(self) -> None:
        self._runs: dict[Site, _Run] = {}
        self._done: set[Site] = set()

    def on_read(self, event: Read) -> None:
        """A mean over a batch becomes a number."""
        if event.how in ("item", "float", "numpy", "tolist", "array") and event.value.numel == 1:
            self._note(event.value, event.site, event.step)

    def on_op(self, op: Op) -> None:
        """`total += loss` with tensors; means that are stacked."""
        if op.name == "add":
            value = op.args.get("other")
            if isinstance(value, Value) and value.numel == 1 and not value.requires_grad and op.direct:
                self._note(value, op.site, op.step)
        elif op.site is not None and op.site not in self._done and op.arg("dim") is None:
            joined = op.inputs[0].producer if op.inputs else None
            if joined is None or joined.name not in ("stack", "cat", "hstack") or not op.direct:
                return
            sizes = [_size_of_mean(v) for v in joined.inputs]
            if len(sizes) > 1 and None not in sizes and len(set(sizes)) > 1 and not joined.inputs[0].requires_grad:
                self._stacked(op.site, [n for n in sizes if n is not None])

    def _note(self, value: Value, site: Site | None, step: int) -> None:
        if site is None or site in self._done:
            return
        size = _size_of_mean(value)
        if size is None:
            return
        run = self._runs.get(site)
        if run is None or run.step != step:
            run = self._runs[site] = _Run(step)
        run.sizes.append(size)
        first = run.sizes[0]
        if size < first and len(run.sizes) > 1 and len(run.sizes) - run.sizes.count(first) == 1:
            self._judge(site, run.sizes)

    def _judge(self, site: Site, sizes: list[int]) -> None:
        """A smaller batch after full ones: is its mean put into a mean of means?"""
        self._done.add(site)
        frame: FrameType | None = sys._getframe(1)
        is_library = self.session.recorder.is_library
        depth = 0
        while frame is not None and depth < 4:
            if not is_library(frame.f_code.co_filename):
                depth += 1
                names = {**frame.f_globals, **locals_of(frame)}
                found = average_of(frame.f_code.co_filename, frame.f_lineno, names)
                if found.line is not None:
                    inner = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
                    while frame.f_back is not None and (frame.f_code.co_name in inner or is_library(frame.f_code.co_filename)):
                        frame = frame.f_back
                    self._tell(Site(frame.f_code, _instruction(frame, found.line)), found.text, found.added, sizes)
                    return
                if not found.returned:
                    return
            frame = frame.f_back

    def _stacked(self, site: Site, sizes: list[int]) -> None:
        call = site.call
        if call is None:
            return
        self._done.add(site)
        self._tell(site, call.text, None, sizes)

    def _tell(self, site: Site, text: str, added: str | None, sizes: list[int]) -> None:
        shown = sizes if len(sizes) <= 6 else [*sizes[:2], *sizes[-2:]]
        self.report(
            site,
            f"`{text}` is a mean of batch means, and the batches are not equally large ({sizes[0]} rows, the last {sizes[-1]}): "
            f"a row of the last batch counts {sizes[0] / sizes[-1]:.3g} times as much as the others.",
            evidence={"batches": len(sizes), "rows": sum(sizes), "sizes": shown, "summed_up": added, "step": self.step},
            fix="add up `mean * rows` of each batch (or use reduction='sum') and divide by the number of rows",
        )


def _instruction(frame: FrameType, line: int) -> int:
    """An instruction of the line."""
    for index, (first, *_rest) in enumerate(frame.f_code.co_positions()):
        if first == line:
            return index * 2
    return frame.f_lasti


def _size_of_mean(value: Value) -> int | None:
    """The number of rows that a scalar is the mean over; None when it is none, or was weighted."""
    for _ in range(8):
        op = value.producer
        if op is None or not op.inputs:
            return None
        given = op.inputs[0]
        if op.name == "mean" and op.args.get("dim") is None or op.name in _MEAN_LOSSES and op.args.get("reduction") == "mean":
            return given.shape[0] if given.ndim else None
        if op.name not in _SAME:
            return None
        value = given
    return None


_HELD_OUT = re.compile(r"(^|[^a-z])(val|valid|validation|test|dev|holdout|heldout|held_out)([^a-z]|$)", re.IGNORECASE)
_TRAIN = re.compile(r"(^|[^a-z])(train|training)", re.IGNORECASE)
_ROWS = 20_000  # of either kind are looked at
_STATISTICS = frozenset("mean std var amin amax min max median quantile std_mean var_mean norm".split())
_SELECTS = ("getitem", "narrow", "index_select", "split", "chunk", "tensor_split", "masked_select")


class _Evaluation:
    """Rows that a model was evaluated on at one place."""

    __slots__ = ("dataset", "leaked", "made", "model", "name", "rows", "site", "windows")

    def __init__(self, site: Site | None, name: str | None, model: int) -> None:
        self.site = site
        self.model = model
        self.name = name
        self.made: Site | None = None  # where the rows were chosen
        self.dataset: int | None = None  # `id` of the data set of the loader that gave them
        self.rows: set[int] = set()
        self.leaked: set[int] = set()
        self.windows = 0  # rows that are a row trained on, moved by one


class DataLeak(Rule):
    """Rows that the model was trained on are among those that it is validated with."""

    slug = "data-leak"
    id = "PL901"
    severity = "error"
    summary = "the same rows in training and validation"
    ops = (*_SELECTS, "randperm", "sub", "div")

    def __init__(self) -> None:
        self._calls: dict[
            int, tuple[int, list[int], _Evaluation | None, Any]
        ] = {}  # by number: model, rows, evaluation, their edges
        self._trained: dict[int, set[int]] = {}
        self._evaluations: dict[tuple[int, Any, str | None], _Evaluation] = {}
        self._edges: dict[
            int, tuple[set[int], set[int]]
        ] = {}  # by model: hashes of the rows trained on without their last, their first
        self._chosen: dict[int, Site | None] = {}  # id of a tensor -> where its rows were chosen
        self._loaders: dict[int, LoaderInfo] = {}  # id of a tensor that a loader gave
        self._splits: dict[int, Any] = {}  # number of a loader -> where its rows were chosen
        self._used: dict[int, dict[int, Any]] = {}  # by model and loader: name, where backward was called, where it was made
        self._orders: dict[Any, int] = {}  # by line: how often it has drawn an order of rows
        self._scaled: dict[int, Site] = {}  # by id of a tensor: where it was scaled by a statistic of all of its rows
        self._scaled_sets: dict[int, Site] = {}  # the same by number of a loader
        self._scaled_rows: dict[tuple[int, bool], set[Site]] = {}  # by model, and whether it is trained: of the rows that it got
        self._trained_on: set[int] = set()  # ids of data sets whose batches took part in a loss with a backward
        self._datasets: dict[int, int] = {}  # by number of a loader: the id of its data set, which may be gone when it is asked for

    # ---- where rows come from --------------------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """Before training: `x[80:]` and the like."""
        if op.name == "randperm":
            if op.site is not None:
                self._orders[op.site.key] = self._orders.get(op.site.key, 0) + 1
            return
        if op.name in ("sub", "div"):
            self._scaled_by_all(op)
            return
        if op.step or not op.inputs or len(self._chosen) > 500 or not op.inputs[0].ndim:
            return
        given = op.inputs[0]
        for made in op.outputs:
            if made.producer is op and made.ndim == given.ndim and made.shape[0] < given.shape[0]:
                self._chosen[made.id] = self._chosen.get(given.id, op.site)
                if given.id in self._scaled:
                    self._scaled[made.id] = self._scaled[given.id]

    def _scaled_by_all(self, op: Op) -> None:
        """`(x - x.mean(0)) / x.std(0)` before training: everything computed from it depends on all rows."""
        if op.step or len(op.inputs) != 2 or len(self._scaled) > 500:
            return
        x, other = op.inputs
        made, out = other.producer, op.output
        if x.ndim < 2 or out is None or x.requires_grad or out.shape != x.shape or x.shape[0] < 16:
            return
        if x.id in self._scaled:
            self._scaled[out.id] = self._scaled[x.id]
        elif made is not None and made.name in _STATISTICS and made.inputs and op.site is not None:
            whole = made.inputs[0].shape == x.shape and made.arg("dim") in (0, [0], (0,), None) and made.inputs[0].id == x.id
            if whole and x.is_floating_point and (x.producer is None or x.producer.name not in _SELECTS):
                self._scaled[out.id] = op.site

    def on_loader(self, event: LoaderInfo) -> None:
        """A loader of a TensorDataset gives the rows of its first tensor."""
        dataset = event.dataset
        part = self.session.recorder.parts.get(dataset) if type(dataset).__name__ == "Subset" else None
        if part is not None:
            call = part.call
            rows = written_at(part, "indices", 1) if call is not None and (call.function or "").endswith("Subset") else None
            drawn = rows is not None and self._orders.get(rows.key, 0) > 1  # each part has an order of its own
            self._splits[event.number] = rows if drawn else part
        while type(dataset).__name__ == "Subset":
            dataset = dataset.dataset
        tensors = getattr(dataset, "tensors", None)
        if isinstance(tensors, (tuple, list)) and tensors and self.session.recorder.value(tensors[0]).id in self._scaled:
            self._scaled_sets[event.number] = self._scaled[self.session.recorder.value(tensors[0]).id]
        if part is None and isinstance(tensors, (tuple, list)) and tensors:
            self._splits[event.number] = self._chosen.get(self.session.recorder.value(tensors[0]).id)

    def on_batch(self, event: Batch) -> None:
        """Whose batch it is."""
        if len(self._loaders) > 64:
            self._loaders.clear()
        for value in event.values:
            self._loaders[value.id] = event.loader
        if event.loader.dataset is not None:
            self._datasets[event.loader.number] = id(event.loader.dataset)

    # ---- calls ------------------------------------------------------------------------------------------------------------
    def on_module_enter(self, call: ModuleCall) -> None:
        """A whole model gets rows."""
        if call.parent is not None or not call.inputs or call.made is not None and call.class_name.endswith("Loss"):
            return
        value, module = call.inputs[0], call.module
        if module is None or value.ndim < 2 or not value.is_floating_point or value.numel < 4 * value.shape[0] // 2:
            return
        model = id(module)
        trained = self._trained.get(model)
        held_out = not call.grad_enabled or not call.training
        if not held_out and trained is not None and len(trained) >= _ROWS:
            return
        if len(self._calls) >= 64:
            self._calls.pop(next(iter(self._calls)))
        self._note_scaled(value, model, held_out)
        rows = _hashes(value)
        if rows:
            self._calls[call.number] = (model, rows, self._evaluation(call, value, model) if held_out else None, _edges(value))

    def _note_scaled(self, value: Value, model: int, held_out: bool) -> None:
        loader = self._loaders.get(value.id)
        place = self._scaled.get(value.id)
        if place is None and value.producer is not None and value.producer.name in _SELECTS and value.producer.inputs:
            place = self._scaled.get(value.producer.inputs[0].id)
        if place is None and loader is not None:
            place = self._scaled_sets.get(loader.number)
        if place is not None:
            self._scaled_rows.setdefault((model, not held_out), set()).add(place)

    def _evaluation(self, call: ModuleCall, value: Value, model: int) -> _Evaluation | None:
        loader = self._loaders.get(value.id)
        if loader is not None:
            name, made = loader.name, self._splits.get(loader.number) or loader.site
            key: Any = loader.number
        else:
            written = call.site.call if call.site is not None else None
            texts = written.arguments if written is not None else []
            name, made, key = (texts[0] if texts else value.name), self._chosen.get(value.id), call.site
            if made is None and value.producer is not None and value.producer.name in _SELECTS and value.producer.inputs:
                made = self._chosen.get(value.producer.inputs[0].id)
        held = self._evaluations.get((model, key, name))
        if held is None:
            if len(self._evaluations) >= 50:
                return None
            held = self._evaluations[model, key, name] = _Evaluation(call.site, name, model)
            held.made = made
            held.dataset = None if loader is None else self._datasets.get(loader.number)
        return held

    def on_backward_begin(self, event: Backward) -> None:
        """Rows of the calls that lead to this loss are trained on; a target network's are no validation."""
        if not self._calls:
            return
        for op in ancestors(event.roots):
            for value in op.inputs if self._loaders else ():
                loader = self._loaders.get(value.id) if value.producer is None else None
                if loader is not None:
                    self._trained_on.add(self._datasets.get(loader.number, 0))
            if op.module is None:
                continue
            found = self._calls.pop(op.module.root.number, None)
            if found is not None and op.module.root.grad_enabled:
                self._loaded(event, op.module.root, found[0])
                trained = self._trained.setdefault(found[0], set())
                if len(trained) < _ROWS:
                    trained.update(found[1])
                    if found[3] is not None:
                        heads, tails = self._edges.setdefault(found[0], (set(), set()))
                        heads.update(found[3][0])
                        tails.update(found[3][1])

    def _loaded(self, event: Backward, call: ModuleCall, model: int) -> None:
        """Which loader gave the rows of a call that is trained with."""
        loader = next((self._loaders[v.id] for v in call.inputs if v.id in self._loaders), None)
        if loader is not None and loader.name:
            self._used.setdefault(model, {})[loader.number] = (loader.name, event.site, loader.site)

    def on_read(self, event: Read) -> None:
        """A number is made of a model's result: it is evaluated."""
        if not self._calls or event.how == "repr" or not any(e is not None for _, _, e, _ in self._calls.values()):
            return
        for op in ancestors([event.value], limit=5000):
            if op.module is None:
                continue
            found = self._calls.get(op.module.root.number)
            if found is None or found[2] is None:
                continue
            del self._calls[op.module.root.number]
            model, rows, evaluation, edges = found
            trained = self._trained.get(model)
            if trained and len(rows) > 1 and len(evaluation.rows) < _ROWS:
                evaluation.rows.update(rows)
                evaluation.leaked.update(trained.intersection(rows))
                if edges is not None and model in self._edges:
                    heads, tails = self._edges[model]
                    evaluation.windows += sum(t in heads or h in tails for h, t in zip(*edges, strict=True))

    def _windows(self, held: _Evaluation, total: int) -> None:
        self.report(
            held.made or held.site,
            f"{held.windows} of {total} rows that the model is evaluated on{f' ({held.name})' if held.name else ''} are windows of a series, moved "
            "by one step from a window that was trained on: they share all values but one.",
            evidence={"evaluated_at": str(held.site), "rows": total, "overlapping": held.windows},
            fix="split the series by time first, with a gap as long as a window, and cut windows out of each part",
        )

    def finish(self) -> None:
        """A part of the rows was trained on; or all of them, although they are called validation."""
        for loaders in self._used.values():
            kept = [x for x in loaders.values() if _HELD_OUT.search(x[0]) and not _TRAIN.search(x[0])]
            if kept and any(_TRAIN.search(x[0]) for x in loaders.values()):
                name, site, made = kept[0]
                self.report(
                    site,
                    f"the model is trained here on the batches of {name} as well, which are for evaluation.",
                    evidence={"loader": name, "loader_at": made},
                    fix="call backward and step for the training loader only, and evaluate under torch.no_grad()",
                )
        for held in self._evaluations.values():
            both = self._scaled_rows.get((held.model, True), set()) & self._scaled_rows.get((held.model, False), set())
            if both and held.rows and not held.leaked:
                site = next(iter(both))
                self.report(
                    site,
                    "all rows are scaled here with statistics of all of them, and only then split into those that the model is trained on and "
                    "those that it is evaluated on: the second have a part in what the first are divided by.",
                    evidence={"evaluated_at": str(held.site), "rows": len(held.rows)},
                    fix="split first; take mean and deviation of the training rows, and use them for both",
                    severity="warning",
                )
        for held in self._evaluations.values():
            total, leaked = len(held.rows), len(held.leaked)
            name = held.name or ""
            if leaked < 2 and total >= 8 and held.windows >= 0.3 * total and not _TRAIN.search(name):
                self._windows(held, total)
            if total < 4 or leaked < 2 or leaked < 0.03 * total or _TRAIN.search(name):
                continue
            trained = self._trained.get(held.model, set())
            whole = leaked == total or trained <= held.rows or held.dataset in self._trained_on
            if whole and not _HELD_OUT.search(name):
                continue  # accuracy on the training data (which may have been mixed or augmented), or on all data, is worth knowing too
            self.report(
                held.made or held.site,
                f"{leaked} of {total} rows that the model is evaluated on{f' ({name})' if name else ''} were also trained on.",
                evidence={
                    "evaluated_at": str(held.site),
                    "rows": total,
                    "also_trained_on": leaked,
                    "share": round(leaked / total, 3),
                },
                fix="split once, into parts that share no row, before anything is repeated, shuffled or sampled",
            )


def _edges(value: Value) -> tuple[list[int], list[int]] | None:
    """For rows that may be windows of a series: the hashes of each without its last element, and without its first."""
    array = value.numpy() if value.ndim in (2, 3) else None
    if array is None or array.dtype.kind != "f" or array.shape[1] < 4:
        return None
    rows = np.ascontiguousarray(array[:4096, :256])
    return [hash(row[:-1].tobytes()) for row in rows], [hash(row[1:].tobytes()) for row in rows]


def _hashes(value: Value) -> list[int]:
    """A number for each row; none for rows that are not made of fractions, which may be equal by nature."""
    array = value.numpy()
    if array is None or array.dtype.kind != "f" or not array.size:
        return []
    rows = np.ascontiguousarray(array[:4096].reshape(min(len(array), 4096), -1)[:, :256])
    if rows.shape[1] < 2 or np.mean(rows == np.floor(rows)) > 0.5:
        return []
    return [hash(row.tobytes()) for row in rows]
