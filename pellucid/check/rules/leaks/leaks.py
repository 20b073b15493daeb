"""Rows that appear in both training and validation: unchanged, slightly changed, or revealed by
each other.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ...events import (
    Backward,
    Batch,
    LoaderInfo,
    ModuleCall,
    Op,
    OptimizerInfo,
    Read,
    Site,
    Value,
    ancestors,
    lineage,
    whole_of,
)
from ...numbers import number_of
from ...rule import distinct
from ..labels.labels import BINARY, CLASS_LOSSES, REGRESSION
from ..source.origins import written_at
from ..source.places import Place, assigned_before, rows_chosen, tree, walk
from .picked import Picked, picked_rows
from .records import KEPT, ROWS, Evaluation, Learned, ModelCall, digest_of
from .rows import common, grams, hashed, matrix, pairs, samples
from .supervised import in_dataset, labels_of_datasets, told_by_labels
from .together import REPEATS, SELECTS, TRAIN, Together, later
from .written import leaks_written

_HELD_OUT = re.compile(
    r"(^|[^a-z])(va|val|valid|validation|te|tst|test|dev|holdout|heldout|held_out|unseen)([^a-z]|$)|[a-z](val|test)$|(^|[^a-z])(x(va|te|v)|(va|te|v)x)([^a-z]|$)",
    re.IGNORECASE,
)


LOSSES = (*CLASS_LOSSES, *BINARY, *REGRESSION)


class DataLeak(Together):
    """Rows that the model was trained on are among those that it is validated with."""

    slug = "data-leak"
    id = "PL901"
    severity = "error"
    summary = "the same rows in training and validation"
    ops = (
        *SELECTS,
        *REPEATS,
        "randperm",
        "sub",
        "div",
        "where",
        "matmul",
        "mm",
        "masked_fill",
        "copy",
        "tensor",
        "as_tensor",
        "from_numpy",
        *LOSSES,
    )

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[int, ModelCall] = {}  # by number
        self._learned: dict[int, Learned] = {}  # by number of a model
        self._evaluations: dict[tuple[int, Any, str | None], Evaluation] = {}
        self._chosen: dict[int, Any] = {}  # id of a tensor -> where its rows were chosen
        self._splits: dict[int, Any] = {}  # number of a loader -> where its rows were chosen
        # by model and loader: name, where backward was called, where it was made
        self._used: dict[int, dict[int, Any]] = {}
        self._orders: dict[Any, int] = {}  # by line: how often it has drawn an order of rows
        # ids of data sets whose batches took part in a loss with a backward
        self._trained_on: set[int] = set()
        # by number of a loader: the number of its data set, which may be gone when it is asked for
        self._datasets: dict[int, int] = {}
        # by digest of a model's first parameter when it was evaluated: what it had learned
        self._states: dict[int, Learned] = {}
        self._made: dict[int, Any] = {}  # id of a tensor of row numbers -> where it was made
        self._phase = 0  # optimizers so far
        # places of calls that a backward has gone through
        self._trained_at: set[Site | None] = set()
        # calls in train mode, evaluations if nothing trains there
        self._later: dict[tuple[int, Any, str | None], Evaluation] = {}
        self._targets: dict[str, None] = {}  # what losses compare with, as it is written
        self._joined: list[
            tuple[set[int], Site | None]
        ] = []  # numbers of data sets that one loader gives together, and where it was made

    # ---- where rows come from --------------------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """Before training: `x[80:]` and the like."""
        if op.name == "copy":
            self._loaded(op)
            return
        if op.name in LOSSES:
            if (
                op.grad_enabled
                and len(self._targets) < 8
                and (text := op.written("target")) is not None
            ):
                self._targets.setdefault(text, None)
            return
        if op.name == "randperm":
            if op.site is not None:
                self._orders[op.site.key] = self._orders.get(op.site.key, 0) + 1
            return
        if op.name in ("tensor", "as_tensor", "from_numpy"):
            out = op.output
            if (
                out is not None
                and out.ndim == 1
                and not out.is_floating_point
                and op.site is not None
                and len(self._made) < 500
            ):
                self._made[out.id] = _listed(op)
            return
        if not op.inputs or len(self._chosen) > 500 or not op.inputs[0].ndim:
            return
        self._numbered(op)
        index = (
            op.inputs[1] if len(op.inputs) == 2 and op.name in ("getitem", "index_select") else None
        )
        if index is not None and index.id in self._made and op.output is not None:
            before = self._chosen.get(op.inputs[0].id)
            self._chosen[op.output.id] = before or self._made[index.id]
        if op.step:
            return
        if op.name in ("sub", "div", "where", "matmul", "mm", "masked_fill"):
            self._scaled_by_all(op)
        elif op.name in REPEATS:
            self._repeated(op)
            self._copied_rows(op)
        elif (
            index is not None
            and index.ndim == 1
            and not index.is_floating_point
            and index.dtype != "bool"
        ):
            picked = index.numpy()
            if (
                picked is not None
                and picked.size > max(24, _rows_given(op) // 2)
                and distinct(picked).size < picked.size
            ):
                self._twice_in([op.output.numpy() if op.output is not None else None])
        if op.name not in SELECTS:
            return
        given = op.inputs[0]
        for made in op.outputs:
            if made.producer is op and made.ndim == given.ndim and made.shape[0] <= given.shape[0]:
                if made.shape[0] < given.shape[0]:
                    self._chosen.setdefault(made.id, self._chosen.get(given.id) or op.site)
                if given.id in self._stains:
                    self._stains[made.id] = self._parted(self._stains[given.id])

    def _numbered(self, op: Op) -> None:
        """Numbers of rows that are put together of others: `torch.cat([order[:a], order[b:]])`."""
        out, site = op.output, op.site
        if out is None or out.ndim != 1 or out.is_floating_point or out.dtype == "bool":
            return
        if op.name in ("getitem", "cat") and site is not None and len(self._made) < 500:
            self._made[out.id] = Place(site.file, site.line)

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Training begins anew, of the next fold perhaps."""
        self._phase += 1

    def on_loader(self, event: LoaderInfo) -> None:
        """A loader of a TensorDataset gives the rows of its first tensor."""
        dataset, recorder = event.dataset, self.session.recorder
        if type(dataset).__name__ == "ConcatDataset":
            self._joined.append(({number_of(d) for d in dataset.datasets}, event.site))
        part = recorder.parts.get(dataset) if type(dataset).__name__ == "Subset" else None
        if part is not None:
            call = part.call
            own = call is not None and (call.function or "").endswith("Subset")
            rows = written_at(part, "indices", 1) if own else None
            # each part has an order of its own
            drawn = rows is not None and self._orders.get(rows.key, 0) > 1
            self._splits[event.number] = (
                rows if drawn else (_numbers(part) if own else None) or part
            )
        dataset = whole_of(dataset)
        tensors = getattr(dataset, "tensors", None)
        if isinstance(tensors, (tuple, list)) and tensors:
            first = recorder.value(tensors[0]).id
            if first in self._stains:
                stain = self._stained[event.number] = self._stains[first]
                if part is not None:
                    stain.site = common(stain.sites, [part]) or stain.site
            if part is None:
                self._splits[event.number] = self._chosen.get(first)

    def on_batch(self, event: Batch) -> None:
        """Whose batch it is."""
        if len(self._batches) > 64:
            self._batches.clear()
        dataset = event.loader.dataset
        for value in event.values:
            self._batches[value.id] = event.loader, dataset, event.indices
        if dataset is not None:
            self._datasets[event.loader.number] = number_of(dataset)

    # ---- calls ------------------------------------------------------------------------------------------------------------
    def on_module_enter(self, call: ModuleCall) -> None:
        """A whole model gets rows."""
        if (
            call.parent is not None
            or not call.inputs
            or call.made is not None
            and call.class_name.endswith("Loss")
        ):
            return
        value, module = call.inputs[0], call.module
        if module is None or value.ndim < 1:
            return
        learned = self._learned_of(module)
        # A call on a line that has never led to a backward evaluates, too; that is known in the
        # end.
        later = (
            call.grad_enabled
            and call.training
            and learned is not None
            and call.site not in self._trained_at
        )
        held_out = not call.grad_enabled or not call.training or later
        full = not held_out and learned is not None and len(learned.rows) >= ROWS
        batch = self._batch_of(call)
        if full and (batch is None or batch[2] is None):
            return
        if len(self._calls) >= 64:
            self._calls.pop(next(iter(self._calls)))
        found = ModelCall(module, number_of(module))
        known = not held_out and learned is not None and self._all_known(learned, call)
        if not full and not known:
            self._look(found, call)
        if (
            batch is not None
            and batch[2] is not None
            and batch[1] is not None
            and hasattr(batch[1], "__getitem__")
        ):
            try:
                base, indices = samples(batch[1], batch[2])
            except (TypeError, ValueError, IndexError, KeyError):
                base, indices = None, []
            if base is not None:
                found.samples = [(number_of(base), indices)]
        if found.codes is None and not found.samples and not known:
            return
        found.shared = value.id if _chosen_by(value, call.inputs[1:]) else None
        found.first = value.id
        found.loader = batch[0] if batch is not None else None
        found.stain = self._stain_of(value)
        found.made = self._chosen_at(call, value, batch[0] if batch is not None else None)
        found.later = later
        if held_out:
            found.evaluation = self._evaluation(
                call, value, found, batch[0] if batch is not None else None
            )
        self._calls[call.number] = found

    def _learned_of(self, module: Any) -> Learned | None:
        return self._learned.get(number_of(module))

    def _batch_of(self, call: ModuleCall) -> tuple[LoaderInfo, Any, Any] | None:
        """The batch of a loader that a model's input is from."""
        if not self._batches:
            return None
        for value in call.inputs[:3]:
            if value.id in self._batches:
                return self._batches[value.id]
            for op in lineage(value, limit=20):
                for v in op.inputs:
                    if v.id in self._batches:
                        return self._batches[v.id]
        return None

    def _all_known(self, learned: Learned, call: ModuleCall) -> bool:
        """Whether a few rows were all trained on in this phase: the others need no look then."""
        learned.calls += 1
        n = learned.calls
        if n < 8 or not n % 16 or learned.phase != self._phase or not call.inputs[0].ndim:
            return False
        if learned.known == call.inputs[0].number:  # the tensor of the last time
            return True
        last = call.inputs[0].shape[0] - 1
        few = ModelCall(call.module, learned.model)
        self._look(few, call, sorted({0, last // 3, last // 2, last}) if last > 0 else [0])
        known = few.codes is not None and learned.recent.issuperset(few.codes.tolist())
        learned.known = call.inputs[0].number if known else -1
        return known

    def _look(self, found: ModelCall, call: ModuleCall, some: list[int] | None = None) -> None:
        """The rows themselves: of fractions the first input alone, of whole numbers all inputs
        together. With `some` only the codes of these rows.
        """
        value = call.inputs[0]
        array = value.numpy()
        count = 0 if array is None or not array.ndim else len(array)
        array = array[some] if some is not None and count else array
        if (
            array is None
            or array.ndim < 1
            or not array.size
            or array.ndim > 1
            and array.dtype.kind == "f"
            and value.numel < 2 * array.shape[0]
        ):
            return
        if array.dtype.kind == "f":
            rows = matrix(array)
            if rows is None or rows.size and np.mean(rows == np.floor(rows)) > 0.5:
                return
            if array.ndim == 2:
                found.rows = rows
            found.grams = grams(array) if some is None else None
        else:
            parts = [array[:, None] if array.ndim == 1 else array]
            for other in call.inputs[1:3]:
                more = (
                    other.numpy() if other.ndim in (1, 2) and not other.is_floating_point else None
                )
                if more is not None and len(more) == count and more.dtype == array.dtype:
                    more = more if some is None else more[some]
                    parts.append(more[:, None] if more.ndim == 1 else more)
            rows = matrix(np.concatenate([p.reshape(len(p), -1) for p in parts], axis=1))
            found.plain = False
            if rows is None:
                return
        found.codes = hashed(rows)

    def _chosen_at(self, call: ModuleCall, value: Value, loader: LoaderInfo | None) -> Any:
        if loader is not None:
            return self._splits.get(loader.number) or loader.site
        made = self._chosen.get(value.id)
        if (
            made is None
            and value.producer is not None
            and value.producer.name in SELECTS
            and value.producer.inputs
        ):
            given = value.producer.inputs
            made = self._chosen.get(given[0].id) or (
                self._made.get(given[1].id) if len(given) > 1 else None
            )
        return made

    def _evaluation(
        self, call: ModuleCall, value: Value, found: ModelCall, loader: LoaderInfo | None
    ) -> Evaluation | None:
        if loader is not None:
            name: str | None = loader.name
            key: Any = loader.number
        else:
            written = call.site.call if call.site is not None else None
            texts = written.arguments if written is not None else []
            # one function may evaluate several sets
            name, key = (texts[0] if texts else value.name), (call.site, found.made)
        table = self._later if found.later else self._evaluations
        held = table.get((found.model, key, name))
        if held is None:
            if len(table) >= 50:
                return None
            held = table[found.model, key, name] = Evaluation(
                call.site, name, found.model, self.session.recorder.callers()
            )
            held.made = found.made
            held.later = found.later
            held.given = None if loader is not None else name
            held.dataset = None if loader is None else self._datasets.get(loader.number)
            held.loader = None if loader is None else loader.site
            held.part = loader is not None and type(loader.dataset).__name__ == "Subset"
            held.plain = found.plain
            if loader is None and call.site is not None:
                held.written = rows_chosen(call.site, name)
            elif (
                loader is not None
                and loader.site is not None
                and (written := loader.site.call) is not None
                and written.arguments
            ):
                held.written = rows_chosen(loader.site, written.arguments[0])
        return held

    def on_backward_begin(self, event: Backward) -> None:
        """Rows of the calls that lead to this loss are trained on; a target network's are no
        validation.
        """
        if not self._calls:
            return
        ops = list(ancestors(event.roots))
        for op in ops:
            for value in op.inputs if self._batches else ():
                batch = self._batches.get(value.id) if value.producer is None else None
                if batch is not None:
                    self._trained_on.add(self._datasets.get(batch[0].number, 0))
            if op.module is None:
                continue
            root = op.module.root
            found = self._calls.pop(root.number, None)
            if found is None or not root.grad_enabled or (module := found.module()) is None:
                continue
            self._loader_used(event, root, found.model)
            self._trained_at.add(root.site)
            learned = self._learned_of(module)
            if learned is None:
                learned = self._learned[found.model] = Learned(module, found.model)
            learned.add(found, self._phase)
            if len(learned.picked) >= 64 and found.first not in learned.picked:
                continue
            picked = picked_rows(ops, root)
            held = learned.picked.setdefault(found.first, Picked())
            held.rows.update(range(root.inputs[0].shape[0]) if picked is None else picked[1])
            if picked is None and held.all_at is None:
                held.all_at = next((o.site for o in ops if o.name in LOSSES), event.site)

    def _loader_used(self, event: Backward, call: ModuleCall, model: int) -> None:
        """Which loader gave the rows of a call that is trained with."""
        loader = next((self._batches[v.id][0] for v in call.inputs if v.id in self._batches), None)
        if loader is not None and loader.name:
            self._used.setdefault(model, {})[loader.number] = (loader.name, event.site, loader.site)

    # ---- weights of another model ----------------------------------------------------------------------------------------
    def _loaded(self, op: Op) -> None:
        """A model gets the weights of one that was trained, or those that it began with."""
        if not op.inplace or op.direct or not op.inputs or not self._learned or op.site is None:
            return
        source, target = op.args.get("src"), op.inputs[0]
        tensor = target.tensor
        if not isinstance(source, Value) or tensor is None or not self._learned:
            return
        owner = next(
            (
                m
                for m in self.session.recorder.names.roots()
                if next(iter(m.parameters()), None) is tensor
            ),
            None,
        )
        array = source.numpy()
        if owner is None or array is None:
            return
        digest = hash(np.ascontiguousarray(array).tobytes())
        own = self._learned_of(owner)
        if own is not None and own.began == digest:
            del self._learned[own.model]
            return
        known = self._states.get(digest)
        for learned in list(self._learned.values()) if known is None else ():
            module = learned.ref()
            if module is not None and module is not owner and digest_of(module) == digest:
                known = learned
        if known is not None and known is not own:
            number = number_of(owner)
            fresh = self._learned[number] = Learned(owner, number)
            fresh.rows, fresh.grams, fresh.stains, fresh.chosen = (
                set(known.rows),
                set(known.grams),
                set(known.stains),
                set(known.chosen),
            )
            fresh.samples = {k: set(v) for k, v in known.samples.items()}
            fresh.kept, fresh.count = list(known.kept), known.count

    def _copied_from(self, module: Any) -> Learned | None:
        """What the only model has learned that one that was not trained itself is a copy or an
        average of.
        """
        shapes = [tuple(p.shape) for p in module.parameters()]
        found = [
            learned
            for learned in self._learned.values()
            if (other := learned.ref()) is not None
            and shapes
            and [tuple(p.shape) for p in other.parameters()] == shapes
        ]
        changed = any(
            p.requires_grad is False or self.session.engine.version(p) for p in module.parameters()
        )
        return found[0] if len(found) == 1 and changed else None

    # ---- evaluation ------------------------------------------------------------------------------------------------------
    def on_read(self, event: Read) -> None:
        """A number is made of a model's result: it is evaluated."""
        if (
            not self._calls
            or event.how == "repr"
            or not any(c.evaluation is not None for c in self._calls.values())
        ):
            return
        ops = list(ancestors([event.value], limit=5000))
        for op in ops:
            if op.module is None:
                continue
            found = self._calls.get(op.module.root.number)
            if found is None or found.evaluation is None:
                continue
            if found.later:
                if found.seen:
                    continue
                found.seen = True
            else:
                del self._calls[op.module.root.number]
            module = found.module()
            learned = self._learned_of(module) if module is not None else None
            if learned is None and module is not None:
                learned = self._copied_from(module)
            elif learned is not None and len(self._states) < 64:
                digest = digest_of(module)
                if digest is not None:
                    self._states[digest] = learned
            if learned is not None and found.first in learned.picked:
                picked = picked_rows(ops, op.module.root)
                if picked is not None:
                    self._picked(*picked, learned.picked[found.first], event)
                    continue
            if learned is not None and module is not None:
                found.evaluation.model_made = self.session.recorder.names.created_at(module)
                self._evaluated(found, found.evaluation, learned, event)

    def _picked(self, op: Op, rows: frozenset[int], trained: Picked, event: Read) -> None:
        """Some rows of a result for all of them are evaluated."""
        text = op.written("index") or ""
        if event.site is not None and not TRAIN.search(text):
            text += " " + _statement_text(event.site)
        common = rows & trained.rows
        if TRAIN.search(text) or not _HELD_OUT.search(text) or len(common) < 2:
            return
        self.report(
            trained.all_at or op.site,
            f"{len(common)} of the {len(rows)} rows that are evaluated were in the loss as well, which is computed of "
            f"{'all' if trained.all_at is not None else 'some of the'} rows of the model's result.",
            evidence={"evaluated_at": str(op.site), "rows": len(rows), "common": len(common)},
            fix="compute the loss of the training rows alone: `loss(output[train], labels[train])`",
        )

    def _evaluated(self, found: ModelCall, held: Evaluation, learned: Learned, event: Read) -> None:
        held.learned = learned
        held.beside |= learned.chosen
        if event.site is not None and len(held.texts) < 4:
            held.texts.add(_statement_text(event.site))
        if found.stain is not None:
            held.stains.add(found.stain)
        for key, indices in found.samples:
            held.samples.update((key, i) for i in indices)
            same = {(key, i) for i in learned.samples.get(key, set()).intersection(indices)}
            held.same |= same
            held.earlier |= same - learned.recent
        if found.shared is not None and found.shared in learned.shared:
            return  # what it is evaluated on was chosen by other inputs
        if (
            found.codes is None
            or len(found.codes) < 2
            and not held.samples
            or len(held.rows) >= ROWS
        ):
            return
        codes = found.codes.tolist()
        if found.rows is not None and sum(map(len, held.kept)) < KEPT:
            new = np.array([c not in held.rows for c in codes])
            held.kept.append(found.rows[new][:, :64].copy())
        held.rows.update(codes)
        leaked = learned.rows.intersection(codes)
        held.leaked.update(leaked)
        held.earlier.update(leaked - learned.recent)
        equal, count = pairs(found.codes)
        held.equal, held.pairs = held.equal + equal, held.pairs + count
        if found.grams is not None:
            held.windows.update(
                code
                for code, end in zip(codes, found.grams[1], strict=False)
                if end and end in learned.grams
            )
            held.alike = max(held.alike, found.grams[2])

    # ---- at the end ------------------------------------------------------------------------------------------------------
    def finish(self) -> None:
        """A part of the rows was trained on; or all of them, although they are called validation."""
        for key, held in self._later.items():
            if held.site not in self._trained_at:
                self._evaluations.setdefault(key, held)
        for loaders in self._used.values():
            kept = [
                x for x in loaders.values() if _HELD_OUT.search(x[0]) and not TRAIN.search(x[0])
            ]
            if kept and any(TRAIN.search(x[0]) for x in loaders.values()):
                name, site, made = kept[0]
                self.report(
                    site,
                    f"the model is also trained here on the batches of {name}, which are meant for evaluation.",
                    evidence={"loader": name, "loader_at": made},
                    fix="call backward and step for the training loader only, and evaluate under torch.no_grad()",
                )
        self._folds()
        for held in self._evaluations.values():
            if held.learned is not None and not self._equal(held, held.learned) and held.rows:
                self._in_common(held, held.learned)
            if held.learned is not None and held.rows - held.leaked:
                self._by_labels(held)
        for site, told in leaks_written(self.session.recorder, self.session.script):
            self.report(site, **told)

    def _by_labels(self, held: Evaluation) -> None:
        """Inputs that the labels of the held-out rows had a part in, too."""
        if held.loader is not None:
            site, given = held.loader, None
            texts = written.arguments if (written := held.loader.call) is not None else []
            pair = in_dataset(held.loader, texts[0]) if texts else None
            given, targets = pair if pair is not None else (None, [])
        else:
            site, given, targets = held.site, held.given, list(self._targets)
            if site is not None:
                targets += labels_of_datasets(site)
        place = (
            told_by_labels(site, given, targets) if given is not None and site is not None else None
        )
        if place is not None:
            self.report(
                place,
                "the inputs were computed with the labels of all rows, including the rows that the model is evaluated on, so the result is "
                "better than it will be on new rows.",
                evidence={"evaluated_at": str(held.site), "rows": len(held.rows)},
                fix="split first, and select columns and average labels with the training rows only",
            )

    def _equal(self, held: Evaluation, learned: Learned) -> bool:
        """The same rows, or the same samples."""
        name = held.name or ""
        total, leaked = len(held.rows), len(held.leaked)
        by_chance = (held.equal / held.pairs if held.pairs else 0.0) * total * len(learned.rows)
        if not held.plain and (
            held.pairs < 100 or leaked <= 10 * by_chance or leaked < 0.1 * total
        ):
            leaked = 0
        if len(held.same) * max(total, 1) > leaked * max(len(held.samples), 1):
            total, leaked = len(held.samples), len(held.same)
        if total < 4 or leaked < 2 or leaked < 0.03 * total or TRAIN.search(name):
            return leaked >= 2
        copied = learned.model != held.model and held.dataset is None
        # steps that were not recorded had other rows as well
        unknown = learned.fresh if self.session.recorder.step > learned.calls + 8 else 0.0
        whole = (
            copied
            or leaked >= 0.9 * total * (1 - unknown)
            or bool(learned.rows)
            and learned.rows <= held.rows
            or held.dataset in self._trained_on
        )
        said = [text for text in held.texts if _HELD_OUT.search(text)]
        if held.later and not (_HELD_OUT.search(name) or said):
            return True  # the batch of the step is looked at once more
        folds = learned.phase > 1 and len(held.earlier) >= 0.9 * leaked
        if folds and leaked < 0.9 * total:  # those of the first fold were new
            self._not_anew(held, total, leaked)
            return True
        if whole and (
            not (_HELD_OUT.search(name) or said)
            or said
            and any(TRAIN.search(text) for text in said)
        ):
            return (
                # accuracy on the training data (which may have been mixed or augmented), or on all
                # data, is worth knowing too
                True
            )
        # a loader of the training set under another name
        same = held.loader if held.dataset in self._trained_on else None
        # the rows were split, and a loader of all of them is trained with
        if same is None and held.part:
            same = next(
                (
                    site
                    for key, site in learned.loaders.items()
                    if any(k == key for k, _ in held.same)
                ),
                None,
            )
        if folds:
            self._not_anew(held, total, leaked)
            return True
        if same is None:
            same = next((site for ids, site in self._joined if held.dataset in ids), None)
        made = later(held.made, held.beside)
        if made is None or made == held.loader:
            made = held.written or made
        self.report(
            same or self._put_twice(held) or made or held.site,
            f"{leaked} of {total} rows that the model is evaluated on{f' ({name})' if name else ''} were also trained on.",
            evidence={
                "evaluated_at": str(held.site),
                "rows": total,
                "also_trained_on": leaked,
                "share": round(leaked / total, 3),
            },
            fix="split once, into parts without common rows, before repeating, shuffling or sampling",
        )
        return True

    def _folds(self) -> None:
        """Parts of one data set that are evaluated at one place, a part after each training of most
        of it: the first is new to the model, the others are not.
        """
        groups: dict[Any, list[Evaluation]] = {}
        for held in self._evaluations.values():
            bases = frozenset(key for key, _ in held.samples)
            if held.learned is not None and held.learned.phase > 1 and len(bases) == 1:
                groups.setdefault((held.site, held.model, bases), []).append(held)
        for group in groups.values():
            new = [h for h in group if not h.same]
            old = [h for h in group if h.same and h.same <= h.earlier and h.same == h.samples]
            learned = group[0].learned
            recent = sum(isinstance(row, tuple) for row in learned.recent) if learned else 0
            whole = len(set().union(*(h.samples for h in group)))
            if new and len(old) > 1 and len(old) + len(new) == len(group) and 2 * recent >= whole:
                self._not_anew(old[-1], len(old[-1].samples), len(old[-1].same))

    def _not_anew(self, held: Evaluation, total: int, leaked: int) -> None:
        """Each fold goes on with the model of the last one, which has seen these rows."""
        self.report(
            held.model_made or held.site,
            f"{leaked} of {total} rows that the model is evaluated on were trained on in an earlier fold: the model is "
            "created only once here, and each fold "
            "continues with what it has learned.",
            evidence={"evaluated_at": str(held.site), "rows": total, "also_trained_on": leaked},
            fix="create a new model (and optimizer) for each fold",
        )


def _rows_given(op: Op) -> int:
    """How many rows an operation was given."""
    return op.inputs[0].shape[0] if op.inputs and op.inputs[0].ndim else 0


def _chosen_by(value: Value, others: tuple[Value, ...]) -> bool:
    """Whether inputs beside the first choose what a model computes, as pairs of a graph's nodes do:
    whole numbers, and not one row of them for each row of the first."""
    return any(
        not v.is_floating_point and v.dtype != "bool" and v.ndim and v.shape[0] != value.shape[0]
        for v in others
    )


def _statement_text(site: Site) -> str:
    """What is said about a number where it is read: the texts of its statement, and what it is
    assigned to.
    """
    root = tree(site.file)
    best: ast.stmt | None = None
    for node in walk(root) if root is not None else ():
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) and node.lineno <= site.line <= (
            node.end_lineno or 0
        ):
            best = node
    if best is None:
        return ""
    words = [
        n.value for n in ast.walk(best) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    targets = (
        best.targets
        if isinstance(best, ast.Assign)
        else [best.target]
        if isinstance(best, ast.AugAssign)
        else []
    )
    return " ".join([*words, *(ast.unparse(t) for t in targets)])


def _listed(op: Op) -> Any:
    """Where the numbers of rows that a tensor is made of were put together: the assignment of the
    variable, if it is given one.
    """
    text = op.written("data")
    return (
        assigned_before(op.site, text) if text is not None and text.isidentifier() else None
    ) or op.site


def _numbers(part: Site) -> Any:
    """The same for `Subset(dataset, val_rows)`."""
    call = part.call
    text = (
        call.keywords.get("indices", call.arguments[1] if len(call.arguments) > 1 else "")
        if call is not None
        else ""
    )
    return assigned_before(part, text) if text.isidentifier() else None
