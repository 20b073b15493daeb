"""The same rows in training and validation, as they are or changed a little, or one told of by the other."""

from __future__ import annotations

import ast
import re
import weakref
from typing import Any

import numpy as np

from ...events import Backward, Batch, Converted, LoaderInfo, ModuleCall, Op, OptimizerInfo, Read, Site, Value, ancestors, lineage
from ...rule import Rule
from ..source.origins import written_at
from ..source.places import Place, assigned_before, rows_chosen, tree
from .rows import common, grams, hashed, matrix, pairs, samples, scaled_at, scaled_together

_HELD_OUT = re.compile(
    r"(^|[^a-z])(va|val|valid|validation|te|tst|test|dev|holdout|heldout|held_out|unseen)([^a-z]|$)|[a-z](val|test)$|(^|[^a-z])(x(va|te|v)|(va|te|v)x)([^a-z]|$)",
    re.IGNORECASE,
)
_TRAIN = re.compile(r"(^|[^a-z])x?(tr|trn|train|training)", re.IGNORECASE)
_ROWS = 20_000  # of either kind are looked at
_KEPT = 4096  # of either kind are kept
_STATISTICS = frozenset("mean std var amin amax min max median quantile std_mean var_mean norm nanmean nanmedian".split())
_SELECTS = ("getitem", "narrow", "index_select", "split", "chunk", "tensor_split", "masked_select")
_REPEATS = ("cat", "repeat", "repeat_interleave", "concat", "concatenate", "vstack", "tile")
_ALIKE = frozenset("add sub mul div clone detach flip roll clamp where to float contiguous mul_ masked_fill dropout".split())


class _Stain:
    """Something that was done to all rows before they were split, and that both parts have in common: "scaled" or "repeated"."""

    __slots__ = ("kind", "site", "sites")

    def __init__(self, kind: str, op: Op, sites: list[Site]) -> None:
        self.kind = kind
        self.site = op.site
        self.sites = sites


class _Learned:
    """What a model was trained on."""

    def __init__(self, module: Any) -> None:
        self.ref = weakref.ref(module)
        self.rows: set[int] = set()
        self.kept: list[Any] = []  # the rows themselves, each once
        self.count = 0
        self.grams: set[int] = set()
        self.samples: dict[int, set[int]] = {}  # by id of a data set
        self.stains: set[_Stain] = set()
        self.chosen: set[Any] = set()  # places where they were chosen
        self.shared: set[int] = set()  # ids of tensors that are the same in all calls: a graph's nodes
        self.loaders: dict[int, Site | None] = {}  # by id of a data set: where a loader of all of it was made
        self.began = _digest(module)
        self.phase = 0  # the optimizers that were made before it was trained last
        self.recent: set[Any] = set()  # rows and samples of this phase

    def add(self, call: _Call, phase: int = 0) -> None:
        """The rows of a call that a backward has gone through."""
        if phase != self.phase:
            self.phase, self.recent = phase, set()
        if len(self.recent) < 2 * _ROWS:
            self.recent.update(call.codes.tolist() if call.codes is not None else ())
            self.recent.update((key, i) for key, indices in call.samples for i in indices)
        if len(self.rows) < _ROWS and call.codes is not None:
            if self.count < _KEPT and call.rows is not None:
                new = ~np.isin(call.codes, list(self.rows)) if self.rows else np.ones(len(call.codes), dtype=bool)
                if new.any():
                    self.kept.append(call.rows[new][:, :64].copy())
                    self.count += int(new.sum())
            self.rows.update(call.codes.tolist())
        if call.grams is not None and len(self.grams) < 10 * _ROWS:
            self.grams |= call.grams[0]
        for key, indices in call.samples:
            self.samples.setdefault(key, set()).update(indices)
        if call.stain is not None:
            self.stains.add(call.stain)
        if call.made is not None:
            self.chosen.add(call.made)
        if call.shared is not None:
            self.shared.add(call.shared)
        if call.loader is not None and len(call.samples) == 1 and type(call.loader.dataset).__name__ != "Subset":
            self.loaders[call.samples[0][0]] = call.loader.site


class _Evaluation:
    """Rows that a model was evaluated on at one place."""

    def __init__(self, site: Site | None, name: str | None, model: int) -> None:
        self.site = site
        self.model = model
        self.name = name
        self.made: Any = None  # where the rows were chosen
        self.beside: set[Any] = set()  # where those of training were
        self.dataset: int | None = None  # `id` of the data set of the loader that gave them
        self.loader: Site | None = None  # where that loader was made
        self.written: Any = None  # where the source says that the rows were chosen
        self.part = False  # that loader gives a part of a data set
        self.rows: set[int] = set()
        self.leaked: set[int] = set()
        self.earlier: set[Any] = set()  # rows and samples that were trained on before the last optimizer was made, and not since
        self.samples: set[tuple[int, int]] = set()
        self.same: set[tuple[int, int]] = set()  # samples that were trained on
        self.windows: set[int] = set()  # rows that end as a row trained on goes on
        self.alike = 0.0  # how often two values of such a row are equal
        self.equal, self.pairs = 0, 0  # pairs of equal rows within a batch, and all pairs
        self.kept: list[Any] = []
        self.stains: set[_Stain] = set()
        self.learned: _Learned | None = None
        self.plain = True  # fractions, which are not equal by nature
        self.texts: set[str] = set()  # of the statements that read the result


class _Call:
    """A call of a whole model, until it is known whether it was training or evaluation."""

    __slots__ = (
        "codes", "evaluation", "grams", "loader", "made", "model", "module", "plain", "rows", "samples", "shared", "stain",
    )  # fmt: skip

    def __init__(self, module: Any) -> None:
        self.model = id(module)
        self.module = weakref.ref(module)
        self.codes: Any = None
        self.rows: Any = None
        self.plain = True
        self.grams: Any = None
        self.samples: list[tuple[int, list[int]]] = []
        self.stain: _Stain | None = None
        self.made: Any = None
        self.shared: int | None = None  # id of the first input, when other inputs choose what is computed for
        self.loader: LoaderInfo | None = None
        self.evaluation: _Evaluation | None = None


def _digest(module: Any) -> int | None:
    """A number for the values of a model's first parameter."""
    p = next(iter(module.parameters()), None)
    try:
        return None if p is None else hash(p.detach().numpy().tobytes())
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return None


class DataLeak(Rule):
    """Rows that the model was trained on are among those that it is validated with."""

    slug = "data-leak"
    id = "PL901"
    severity = "error"
    summary = "the same rows in training and validation"
    ops = (
        *_SELECTS,
        *_REPEATS,
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
    )

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}  # by number
        self._learned: dict[int, _Learned] = {}  # by id of a model
        self._evaluations: dict[tuple[int, Any, str | None], _Evaluation] = {}
        self._chosen: dict[int, Any] = {}  # id of a tensor -> where its rows were chosen
        self._batches: dict[int, tuple[LoaderInfo, Any, Any]] = {}  # id of a tensor that a loader gave: loader, data set, indices
        self._splits: dict[int, Any] = {}  # number of a loader -> where its rows were chosen
        self._used: dict[int, dict[int, Any]] = {}  # by model and loader: name, where backward was called, where it was made
        self._orders: dict[Any, int] = {}  # by line: how often it has drawn an order of rows
        self._stains: dict[int, _Stain] = {}  # by id of a tensor
        self._stained: dict[int, _Stain] = {}  # the same by number of a loader
        self._trained_on: set[int] = set()  # ids of data sets whose batches took part in a loss with a backward
        self._datasets: dict[int, int] = {}  # by number of a loader: the id of its data set, which may be gone when it is asked for
        self._states: dict[int, _Learned] = {}  # by digest of a model's first parameter when it was evaluated: what it had learned
        self._made: dict[int, Any] = {}  # id of a tensor of row numbers -> where it was made
        self._phase = 0  # optimizers so far
        self._joined: list[
            tuple[set[int], Site | None]
        ] = []  # ids of data sets that one loader gives together, and where it was made
        self._twice: list[tuple[set[int], list[Site]]] = []  # rows that were put beside themselves, and the places that led to it
        self._bases: list[Any] = []  # data sets whose ids stand in `samples`

    # ---- where rows come from --------------------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """Before training: `x[80:]` and the like."""
        if op.name == "copy":
            self._loaded(op)
            return
        if op.name == "randperm":
            if op.site is not None:
                self._orders[op.site.key] = self._orders.get(op.site.key, 0) + 1
            return
        if op.name in ("tensor", "as_tensor", "from_numpy"):
            out = op.output
            if out is not None and out.ndim == 1 and not out.is_floating_point and op.site is not None and len(self._made) < 500:
                self._made[out.id] = _listed(op)
            return
        if not op.inputs or len(self._chosen) > 500 or not op.inputs[0].ndim:
            return
        index = op.inputs[1] if len(op.inputs) == 2 and op.name in ("getitem", "index_select") else None
        if index is not None and index.id in self._made and op.output is not None:
            self._chosen[op.output.id] = self._made[index.id]
        if op.step:
            return
        if op.name in ("sub", "div", "where", "matmul", "mm", "masked_fill"):
            self._scaled_by_all(op)
        elif op.name in _REPEATS:
            self._repeated(op)
            self._copied_rows(op)
        elif index is not None and index.ndim == 1 and not index.is_floating_point and index.dtype != "bool":
            picked = index.numpy()
            if picked is not None and picked.size > max(24, _rows_given(op) // 2) and np.unique(picked).size < picked.size:
                self._twice_in([op.output.numpy() if op.output is not None else None])
        if op.name not in _SELECTS:
            return
        given = op.inputs[0]
        for made in op.outputs:
            if made.producer is op and made.ndim == given.ndim and made.shape[0] <= given.shape[0]:
                if made.shape[0] < given.shape[0]:
                    self._chosen.setdefault(made.id, self._chosen.get(given.id) or op.site)
                if given.id in self._stains:
                    self._stains[made.id] = self._parted(self._stains[given.id])

    def _copied_rows(self, op: Op) -> None:
        """`cat([x, x[picked]])`: some rows stand there twice."""
        out = op.output
        if out is not None and out.ndim >= 2 and out.is_floating_point and not out.requires_grad and op.args.get("dim", 0) == 0:
            parts = [v.numpy() for v in op.inputs] if op.name in ("cat", "concat", "concatenate", "vstack") else [out.numpy()]
            self._twice_in(parts)

    def on_joined(self, event: Converted) -> None:
        """The same of NumPy's arrays."""
        if event.after.ndim < 2 or event.after.dtype.kind != "f" or event.step:
            return
        several = isinstance(event.before, (list, tuple))
        self._twice_in(list(event.before) if several else [event.after])

    def _twice_in(self, parts: list[Any]) -> None:
        """Rows of one part that are in another, or that are in the only part more than once."""
        codes = []
        for part in parts[:8]:
            rows = matrix(part.astype(np.float32)) if isinstance(part, np.ndarray) and part.dtype.kind == "f" else None
            if rows is None or rows.size and np.mean(rows == np.floor(rows)) > 0.5:
                return
            codes.append(hashed(rows))
        if len(codes) == 1:
            found, counts = np.unique(codes[0], return_counts=True)
            found = found[counts > 1]
        else:
            found = np.intersect1d(np.concatenate(codes[1:]), codes[0]) if codes else np.zeros(0)
        if found.size >= 2 and len(self._twice) < 20:
            self._twice.append((set(found.tolist()), self.session.recorder.callers()))

    def _put_twice(self, held: _Evaluation) -> Any:
        """Where the rows that both parts have were put beside themselves, before the split."""
        for codes, sites in self._twice:
            if held.leaked and len(held.leaked & codes) >= 0.8 * len(held.leaked) and held.site is not None:
                return common(sites, [held.site]) or sites[0]
        return None

    def _parted(self, stain: _Stain) -> _Stain:
        """The rows are split now: where the ways to both parted is the line to change."""
        place = common(stain.sites, self.session.recorder.callers())
        stain.site = place or stain.site
        return stain

    def _scaled_by_all(self, op: Op) -> None:
        """`(x - x.mean(0)) / x.std(0)` before training: everything computed from it depends on all rows."""
        out = op.output
        if not op.inputs or out is None or out.ndim < 2 or out.shape[0] < 16 or len(self._stains) > 500:
            return
        rows = [v for v in op.inputs if v.shape[:1] == out.shape[:1] and v.ndim == out.ndim and not v.requires_grad]
        stained = next((v for v in rows if v.id in self._stains), None)
        if stained is not None:
            self._stains[out.id] = self._stains[stained.id]
            return
        x = next((v for v in rows if v.shape == out.shape and v.is_floating_point), None)
        if x is None or op.site is None or op.name in ("matmul", "mm") or x.producer is not None and x.producer.name in _SELECTS:
            return
        for other in op.inputs:
            made = other.producer
            while made is not None and made.name in ("clamp", "add", "sqrt", "expand", "unsqueeze", "expand_as") and made.inputs:
                made = made.inputs[0].producer
            if other is x or made is None or made.name not in _STATISTICS or not made.inputs:
                continue
            if made.inputs[0].id == x.id and made.arg("dim") in (0, [0], (0,), None):
                self._stains[out.id] = _Stain("scaled", op, self.session.recorder.callers())

    def _repeated(self, op: Op) -> None:
        """`cat([x, x + noise])`: each row several times, as it is or nearly so."""
        out = op.output
        if out is None or out.ndim < 2 or not out.is_floating_point or out.requires_grad or len(self._stains) > 500:
            return
        if op.name in ("repeat", "repeat_interleave", "tile"):
            base = [op.inputs[0]] * (out.shape[0] // max(1, op.inputs[0].shape[0]))
        else:
            base = [b for v in op.inputs if (b := _base(v)) is not None]
        for v in base:
            if (
                v.ndim != out.ndim
                or v.shape[0] < 24
                or out.shape[0] < 1.5 * v.shape[0]
                or len([b for b in base if b is v or b.id == v.id]) < 2
            ):
                continue
            if (
                op.name.startswith("repeat")
                or op.name == "tile"
                or _near([x for x in op.inputs if (b := _base(x)) is not None and b.id == v.id])
            ):
                self._stains[out.id] = _Stain("repeated", op, self.session.recorder.callers())
            return

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Training begins anew, of the next fold perhaps."""
        self._phase += 1

    def on_loader(self, event: LoaderInfo) -> None:
        """A loader of a TensorDataset gives the rows of its first tensor."""
        dataset, recorder = event.dataset, self.session.recorder
        if type(dataset).__name__ == "ConcatDataset":
            self._joined.append(({id(d) for d in dataset.datasets}, event.site))
        part = recorder.parts.get(dataset) if type(dataset).__name__ == "Subset" else None
        if part is not None:
            call = part.call
            own = call is not None and (call.function or "").endswith("Subset")
            rows = written_at(part, "indices", 1) if own else None
            drawn = rows is not None and self._orders.get(rows.key, 0) > 1  # each part has an order of its own
            self._splits[event.number] = rows if drawn else (_numbers(part) if own else None) or part
        while type(dataset).__name__ == "Subset":
            dataset = dataset.dataset
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
            self._datasets[event.loader.number] = id(dataset)

    # ---- calls ------------------------------------------------------------------------------------------------------------
    def on_module_enter(self, call: ModuleCall) -> None:
        """A whole model gets rows."""
        if call.parent is not None or not call.inputs or call.made is not None and call.class_name.endswith("Loss"):
            return
        value, module = call.inputs[0], call.module
        if module is None or value.ndim < 1:
            return
        held_out = not call.grad_enabled or not call.training
        learned = self._learned_of(module)
        full = not held_out and learned is not None and len(learned.rows) >= _ROWS
        batch = self._batch_of(call)
        if full and (batch is None or batch[2] is None):
            return
        if len(self._calls) >= 64:
            self._calls.pop(next(iter(self._calls)))
        found = _Call(module)
        if not full:
            self._look(found, call)
        if batch is not None and batch[2] is not None and batch[1] is not None and hasattr(batch[1], "__getitem__"):
            try:
                base, indices = samples(batch[1], batch[2])
            except (TypeError, ValueError, IndexError, KeyError):
                base, indices = None, []
            if base is not None:
                if not any(base is known for known in self._bases):
                    self._bases.append(base)
                found.samples = [(id(base), indices)]
        if found.codes is None and not found.samples:
            return
        found.shared = value.id if _chosen_by(value, call.inputs[1:]) else None
        found.loader = batch[0] if batch is not None else None
        found.stain = self._stain_of(value)
        found.made = self._chosen_at(call, value, batch[0] if batch is not None else None)
        if held_out:
            found.evaluation = self._evaluation(call, value, found, batch[0] if batch is not None else None)
        self._calls[call.number] = found

    def _learned_of(self, module: Any) -> _Learned | None:
        held = self._learned.get(id(module))
        return held if held is not None and held.ref() is module else None

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

    def _look(self, found: _Call, call: ModuleCall) -> None:
        """The rows themselves: of fractions the first input alone, of whole numbers all inputs together."""
        value = call.inputs[0]
        array = value.numpy()
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
            found.grams = grams(array)
        else:
            parts = [array[:, None] if array.ndim == 1 else array]
            for other in call.inputs[1:3]:
                more = other.numpy() if other.ndim in (1, 2) and not other.is_floating_point else None
                if more is not None and len(more) == len(array) and more.dtype == array.dtype:
                    parts.append(more[:, None] if more.ndim == 1 else more)
            rows = matrix(np.concatenate([p.reshape(len(p), -1) for p in parts], axis=1))
            found.plain = False
            if rows is None:
                return
        found.codes = hashed(rows)

    def _stain_of(self, value: Value) -> _Stain | None:
        place = self._stains.get(value.id)
        if place is None and value.producer is not None and value.producer.name in _SELECTS and value.producer.inputs:
            place = self._stains.get(value.producer.inputs[0].id)
        if place is None and value.id in self._batches:
            place = self._stained.get(self._batches[value.id][0].number)
        return place

    def _chosen_at(self, call: ModuleCall, value: Value, loader: LoaderInfo | None) -> Any:
        if loader is not None:
            return self._splits.get(loader.number) or loader.site
        made = self._chosen.get(value.id)
        if made is None and value.producer is not None and value.producer.name in _SELECTS and value.producer.inputs:
            given = value.producer.inputs
            made = self._chosen.get(given[0].id) or (self._made.get(given[1].id) if len(given) > 1 else None)
        return made

    def _evaluation(self, call: ModuleCall, value: Value, found: _Call, loader: LoaderInfo | None) -> _Evaluation | None:
        if loader is not None:
            name: str | None = loader.name
            key: Any = loader.number
        else:
            written = call.site.call if call.site is not None else None
            texts = written.arguments if written is not None else []
            name, key = (texts[0] if texts else value.name), call.site
        held = self._evaluations.get((found.model, key, name))
        if held is None:
            if len(self._evaluations) >= 50:
                return None
            held = self._evaluations[found.model, key, name] = _Evaluation(call.site, name, found.model)
            held.made = found.made
            held.dataset = None if loader is None else self._datasets.get(loader.number)
            held.loader = None if loader is None else loader.site
            held.part = loader is not None and type(loader.dataset).__name__ == "Subset"
            held.plain = found.plain
            if loader is None and call.site is not None:
                held.written = rows_chosen(call.site, name)
            elif loader is not None and loader.site is not None and (written := loader.site.call) is not None and written.arguments:
                held.written = rows_chosen(loader.site, written.arguments[0])
        return held

    def on_backward_begin(self, event: Backward) -> None:
        """Rows of the calls that lead to this loss are trained on; a target network's are no validation."""
        if not self._calls:
            return
        for op in ancestors(event.roots):
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
            learned = self._learned_of(module)
            if learned is None:
                learned = self._learned[found.model] = _Learned(module)
            learned.add(found, self._phase)

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
        owner = next((m for m in self.session.recorder.names.roots() if next(iter(m.parameters()), None) is tensor), None)
        array = source.numpy()
        if owner is None or array is None:
            return
        digest = hash(np.ascontiguousarray(array).tobytes())
        own = self._learned_of(owner)
        if own is not None and own.began == digest:
            del self._learned[id(owner)]
            return
        known = self._states.get(digest)
        for learned in list(self._learned.values()) if known is None else ():
            module = learned.ref()
            if module is not None and module is not owner and _digest(module) == digest:
                known = learned
        if known is not None and known is not own:
            fresh = self._learned[id(owner)] = _Learned(owner)
            fresh.rows, fresh.grams, fresh.stains, fresh.chosen = (
                set(known.rows),
                set(known.grams),
                set(known.stains),
                set(known.chosen),
            )
            fresh.samples = {k: set(v) for k, v in known.samples.items()}
            fresh.kept, fresh.count = list(known.kept), known.count

    def _copied_from(self, module: Any) -> _Learned | None:
        """What the only model has learned that one that was not trained itself is a copy or an average of."""
        shapes = [tuple(p.shape) for p in module.parameters()]
        found = [
            learned for learned in self._learned.values()
            if (other := learned.ref()) is not None and shapes and [tuple(p.shape) for p in other.parameters()] == shapes
        ]  # fmt: skip
        changed = any(p.requires_grad is False or self.session.engine.version(p) for p in module.parameters())
        return found[0] if len(found) == 1 and changed else None

    # ---- evaluation ------------------------------------------------------------------------------------------------------
    def on_read(self, event: Read) -> None:
        """A number is made of a model's result: it is evaluated."""
        if not self._calls or event.how == "repr" or not any(c.evaluation is not None for c in self._calls.values()):
            return
        for op in ancestors([event.value], limit=5000):
            if op.module is None:
                continue
            found = self._calls.get(op.module.root.number)
            if found is None or found.evaluation is None:
                continue
            del self._calls[op.module.root.number]
            module = found.module()
            learned = self._learned_of(module) if module is not None else None
            if learned is None and module is not None:
                learned = self._copied_from(module)
            elif learned is not None and len(self._states) < 64:
                digest = _digest(module)
                if digest is not None:
                    self._states[digest] = learned
            if learned is not None:
                self._evaluated(found, found.evaluation, learned, event)

    def _evaluated(self, found: _Call, held: _Evaluation, learned: _Learned, event: Read) -> None:
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
        if found.codes is None or len(found.codes) < 2 and not held.samples or len(held.rows) >= _ROWS:
            return
        codes = found.codes.tolist()
        if found.rows is not None and sum(map(len, held.kept)) < _KEPT:
            new = np.array([c not in held.rows for c in codes])
            held.kept.append(found.rows[new][:, :64].copy())
        held.rows.update(codes)
        leaked = learned.rows.intersection(codes)
        held.leaked.update(leaked)
        held.earlier.update(leaked - learned.recent)
        equal, count = pairs(found.codes)
        held.equal, held.pairs = held.equal + equal, held.pairs + count
        if found.grams is not None:
            held.windows.update(code for code, end in zip(codes, found.grams[1], strict=False) if end and end in learned.grams)
            held.alike = max(held.alike, found.grams[2])

    # ---- at the end ------------------------------------------------------------------------------------------------------
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
            if held.learned is not None and not self._equal(held, held.learned) and held.rows:
                self._in_common(held, held.learned)

    def _equal(self, held: _Evaluation, learned: _Learned) -> bool:
        """The same rows, or the same samples."""
        name = held.name or ""
        total, leaked = len(held.rows), len(held.leaked)
        by_chance = (held.equal / held.pairs if held.pairs else 0.0) * total * len(learned.rows)
        if not held.plain and (held.pairs < 100 or leaked <= 10 * by_chance or leaked < 0.1 * total):
            leaked = 0
        if len(held.same) * max(total, 1) > leaked * max(len(held.samples), 1):
            total, leaked = len(held.samples), len(held.same)
        if total < 4 or leaked < 2 or leaked < 0.03 * total or _TRAIN.search(name):
            return leaked >= 2
        module = learned.ref()
        copied = module is not None and id(module) != held.model and held.dataset is None
        whole = (
            copied or leaked >= 0.9 * total or bool(learned.rows) and learned.rows <= held.rows or held.dataset in self._trained_on
        )
        said = [text for text in held.texts if _HELD_OUT.search(text)]
        if whole and (not (_HELD_OUT.search(name) or said) or said and any(_TRAIN.search(text) for text in said)):
            return (
                True  # accuracy on the training data (which may have been mixed or augmented), or on all data, is worth knowing too
            )
        same = held.loader if held.dataset in self._trained_on else None  # a loader of the training set under another name
        if same is None and held.part:  # the rows were split, and a loader of all of them is trained with
            same = next((site for key, site in learned.loaders.items() if any(k == key for k, _ in held.same)), None)
        if len(held.earlier) >= 0.9 * leaked and learned.phase > 1 and module is not None:
            self._not_anew(held, module, total, leaked)
            return True
        if same is None:
            same = next((site for ids, site in self._joined if held.dataset in ids), None)
        made = _later(held.made, held.beside)
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
            fix="split once, into parts that share no row, before anything is repeated, shuffled or sampled",
        )
        return True

    def _not_anew(self, held: _Evaluation, module: Any, total: int, leaked: int) -> None:
        """Each fold goes on with the model of the last one, which has seen these rows."""
        self.report(
            self.session.recorder.names.site_of(module) or held.site,
            f"{leaked} of {total} rows that the model is evaluated on were trained on in an earlier round: it is made once here, and each round "
            "goes on with what it has learned.",
            evidence={"evaluated_at": str(held.site), "rows": total, "also_trained_on": leaked},
            fix="make a new model (and optimizer) for each fold",
        )

    def _in_common(self, held: _Evaluation, learned: _Learned) -> None:
        """Windows that overlap, and what was done to all rows before the split."""
        total, name = len(held.rows), held.name or ""
        by_chance = held.alike**2 * len(learned.grams)  # how many such ends a row of values of this kind meets anyway
        if total >= 8 and len(held.windows) >= 0.5 * total and by_chance < 0.5 and not _TRAIN.search(name):
            self.report(
                _later(held.made, held.beside) or held.site,
                f"{len(held.windows)} of {total} rows that the model is evaluated on{f' ({name})' if name else ''} are windows of a series, moved "
                "against a window that was trained on: they share most values with it, the last ones too.",
                evidence={"evaluated_at": str(held.site), "rows": total, "overlapping": len(held.windows)},
                fix="split the series by time first, with a gap as long as a window, and cut windows out of each part",
            )
            return
        both = {s.kind: s for s in held.stains & learned.stains}
        if "repeated" in both:
            self.report(
                both["repeated"].site,
                "each row is put here several times, changed a little, and only then the rows are split: what the model is evaluated on are "
                "variants of rows that it was trained on.",
                evidence={"evaluated_at": str(held.site), "rows": total},
                fix="split first, and augment the training rows alone",
            )
            return
        kind: str | None = None
        place: Any = None
        if "scaled" in both:
            kind, place = "statistics of all of them", both["scaled"].site
        if kind is None and held.kept and learned.kept:
            widths = {rows.shape[1] for rows in (*held.kept, *learned.kept)}
            found = scaled_together(np.concatenate(learned.kept), np.concatenate(held.kept)) if len(widths) == 1 else None
            if found is not None:
                kind, place = (
                    f"the {found} of all of them",
                    scaled_at(self.session.recorder.files(self.session.script)) or held.made,
                )
        if kind is not None:
            self.report(
                place,
                f"all rows are scaled here with {kind}, and only then split into those that the model is trained on and "
                "those that it is evaluated on: the second have a part in what the first are divided by.",
                evidence={"evaluated_at": str(held.site), "rows": total},
                fix="split first; take mean and deviation of the training rows, and use them for both",
                severity="warning",
            )


def _rows_given(op: Op) -> int:
    """How many rows an operation was given."""
    return op.inputs[0].shape[0] if op.inputs and op.inputs[0].ndim else 0


def _base(value: Value) -> Value | None:
    """What a value is a changed copy of, row by row."""
    for _ in range(12):
        made = value.producer
        if made is None or made.name not in _ALIKE or not made.inputs:
            return value
        before = next(
            (v for v in made.inputs if v.shape[:1] == value.shape[:1] and v.is_floating_point and v.ndim == value.ndim), None
        )
        if before is None:
            return value
        value = before
    return value


def _chosen_by(value: Value, others: tuple[Value, ...]) -> bool:
    """Whether inputs beside the first choose what a model computes, as pairs of a graph's nodes do: whole numbers, and not one row of them for
    each row of the first."""
    return any(not v.is_floating_point and v.dtype != "bool" and v.ndim and v.shape[0] != value.shape[0] for v in others)


def _near(parts: list[Value]) -> bool:
    """Whether what is put together differs row by row much less than the rows of one part differ from each other."""
    arrays = [a.reshape(len(a), -1).astype(np.float64) for v in parts[:3] if (a := v.numpy()) is not None]
    if len(arrays) < 2 or arrays[0].shape != arrays[1].shape or len(arrays[0]) < 24:
        return False
    apart = np.median(np.linalg.norm(arrays[0] - np.roll(arrays[0], 1, axis=0), axis=1))
    return bool(np.median(np.linalg.norm(arrays[1] - arrays[0], axis=1)) < 0.5 * apart)


def _statement_text(site: Site) -> str:
    """What is said about a number where it is read: the texts of its statement, and what it is assigned to."""
    root = tree(site.file)
    best: ast.stmt | None = None
    for node in ast.walk(root) if root is not None else ():
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) and node.lineno <= site.line <= (node.end_lineno or 0):
            best = node
    if best is None:
        return ""
    words = [n.value for n in ast.walk(best) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    targets = best.targets if isinstance(best, ast.Assign) else [best.target] if isinstance(best, ast.AugAssign) else []
    return " ".join([*words, *(ast.unparse(t) for t in targets)])


def _listed(op: Op) -> Any:
    """Where the numbers of rows that a tensor is made of were put together: the assignment of the variable, if it is given one."""
    text = op.written("data")
    return (assigned_before(op.site, text) if text is not None and text.isidentifier() else None) or op.site


def _numbers(part: Site) -> Any:
    """The same for `Subset(dataset, val_rows)`."""
    call = part.call
    text = call.keywords.get("indices", call.arguments[1] if len(call.arguments) > 1 else "") if call is not None else ""
    return assigned_before(part, text) if text.isidentifier() else None


def _later(made: Any, beside: set[Any]) -> Any:
    """Of the lines that choose both kinds of rows the last: it has to leave out what the first has taken."""
    if made is None:
        return None
    near = [
        p for p in beside if p is not None and p.key[0] == made.key[0] and 0 < p.key[1] - made.key[1] <= 3 and isinstance(p, Place)
    ]
    return max(near, key=lambda p: p.key[1]) if near and isinstance(made, Place) else made
