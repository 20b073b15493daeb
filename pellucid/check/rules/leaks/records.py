"""Remember the rows that models were trained and evaluated on."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...events import LoaderInfo, Op, Site
from .picked import Picked

ROWS = 20_000  # of either kind are looked at
KEPT = 4096  # of either kind are kept


class Stain:
    """Something that was done to all rows before they were split, and that both parts have in
    common: "scaled" or "repeated".
    """

    __slots__ = ("kind", "site", "sites")

    def __init__(self, kind: str, op: Op, sites: list[Site]) -> None:
        self.kind = kind
        self.site = sites[0] if sites else op.site
        self.sites = sites


class Learned:
    """What a model was trained on."""

    def __init__(self, module: Any, model: int) -> None:
        self.ref = weakref.ref(module)
        self.model = model  # its number, since it may be gone in the end
        self.rows: set[int] = set()
        self.kept: list[Any] = []  # the rows themselves, each once
        self.count = 0
        self.grams: set[int] = set()
        self.samples: dict[int, set[int]] = {}  # by number of a data set
        self.stains: set[Stain] = set()
        self.chosen: set[Any] = set()  # places where they were chosen
        # ids of tensors that are the same in all calls: a graph's nodes
        self.shared: set[int] = set()
        # by number of a data set: where a loader of all of it was made
        self.loaders: dict[int, Site | None] = {}
        self.began = digest_of(module)
        self.phase = 0  # the optimizers that were made before it was trained last
        self.recent: set[Any] = set()  # rows and samples of this phase
        self.calls = 0  # of the model, to train it
        self.known = -1  # the number of an input whose rows are all among the recent ones
        self.picked: dict[int, Picked] = {}  # by id of an input that losses had a part of
        # how many of the rows of the last calls were new: so many are not known yet
        self.fresh = 1.0

    def add(self, call: ModelCall, phase: int = 0) -> None:
        """The rows of a call that a backward has gone through."""
        if phase != self.phase:
            self.phase, self.recent = phase, set()
        if len(self.recent) < 2 * ROWS:
            self.recent.update(call.codes.tolist() if call.codes is not None else ())
            self.recent.update((key, i) for key, indices in call.samples for i in indices)
        if len(self.rows) < ROWS and call.codes is not None:
            new = [c not in self.rows for c in call.codes.tolist()]
            self.fresh += 0.25 * (sum(new) / max(len(new), 1) - self.fresh)
            if self.count < KEPT and call.rows is not None:
                if any(new):
                    self.kept.append(call.rows[np.array(new)][:, :64].copy())
                    self.count += sum(new)
            self.rows.update(call.codes.tolist())
        if call.grams is not None and len(self.grams) < 10 * ROWS:
            self.grams |= call.grams[0]
        for key, indices in call.samples:
            self.samples.setdefault(key, set()).update(indices)
        if call.stain is not None:
            self.stains.add(call.stain)
        if call.made is not None:
            self.chosen.add(call.made)
        if call.shared is not None:
            self.shared.add(call.shared)
        if (
            call.loader is not None
            and len(call.samples) == 1
            and type(call.loader.dataset).__name__ != "Subset"
        ):
            self.loaders[call.samples[0][0]] = call.loader.site


class Evaluation:
    """Rows that a model was evaluated on at one place."""

    def __init__(self, site: Site | None, name: str | None, model: int, ways: list[Site]) -> None:
        self.site = site
        self.ways = ways  # the places that led there, innermost first
        self.model = model
        self.name = name
        self.made: Any = None  # where the rows were chosen
        self.later = False  # in train mode and with gradients, on a line that nothing trains on
        self.given: str | None = None  # what the model is called with, as it is written
        self.beside: set[Any] = set()  # where those of training were
        self.dataset: int | None = None  # number of the data set of the loader that gave them
        self.loader: Site | None = None  # where that loader was made
        self.written: Any = None  # where the source says that the rows were chosen
        self.part = False  # that loader gives a part of a data set
        self.rows: set[int] = set()
        self.leaked: set[int] = set()
        # rows and samples that were trained on before the last optimizer was made, and not since
        self.earlier: set[Any] = set()
        self.samples: set[tuple[int, int]] = set()
        self.same: set[tuple[int, int]] = set()  # samples that were trained on
        self.windows: set[int] = set()  # rows that end as a row trained on goes on
        self.alike = 0.0  # how often two values of such a row are equal
        self.equal, self.pairs = 0, 0  # pairs of equal rows within a batch, and all pairs
        self.kept: list[Any] = []
        self.stains: set[Stain] = set()
        self.learned: Learned | None = None
        self.model_made: Any = None  # where the model was made that was evaluated
        self.plain = True  # fractions, which are not equal by nature
        self.texts: set[str] = set()  # of the statements that read the result


class ModelCall:
    """A call of a whole model, until it is known whether it was training or evaluation."""

    __slots__ = (
        "codes",
        "evaluation",
        "first",
        "grams",
        "later",
        "loader",
        "made",
        "model",
        "module",
        "plain",
        "rows",
        "samples",
        "seen",
        "shared",
        "stain",
    )

    def __init__(self, module: Any, model: int) -> None:
        self.model = model  # the number of the module
        self.module = weakref.ref(module)
        self.codes: Any = None
        self.rows: Any = None
        self.plain = True
        self.grams: Any = None
        self.samples: list[tuple[int, list[int]]] = []
        self.stain: Stain | None = None
        self.made: Any = None
        # id of the first input, when other inputs choose what is computed for
        self.shared: int | None = None
        self.first = 0  # id of the first input
        self.loader: LoaderInfo | None = None
        self.evaluation: Evaluation | None = None
        self.later = False  # whether this is an evaluation is known in the end
        self.seen = False  # such a one has been read


def digest_of(module: Any) -> int | None:
    """A number for the values of a model's first parameter."""
    p = next(iter(module.parameters()), None)
    try:
        return None if p is None else hash(p.detach().numpy().tobytes())
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return None
