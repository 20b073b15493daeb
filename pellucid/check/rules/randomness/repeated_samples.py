"""Streams of samples that every worker of a DataLoader gives in full."""

from __future__ import annotations

import numpy as np

from ...events import Batch, LoaderInfo
from ...fingerprint import fingerprint
from ...rule import Rule

_MOST = 20_000  # rows of a pass that are compared
_FEWEST = 8  # rows of one worker
_ELEMENTS = 4  # of a row: shorter ones may well be equal


class _Pass:
    """The rows of one pass, by worker."""

    __slots__ = ("expected", "rows", "total")

    def __init__(self, workers: int) -> None:
        self.rows: list[set[bytes]] = [set() for _ in range(workers)]
        self.total = 0
        self.expected = 0  # position of the next batch


class SamplesRepeated(Rule):
    """An IterableDataset is copied into each worker, and each copy gives all samples."""

    slug = "samples-repeated"
    id = "PL804"
    severity = "error"
    summary = (
        "an IterableDataset is not divided among workers, so each sample comes once per worker"
    )
    symptom_of = ("same-worker-seed",)

    def __init__(self) -> None:
        self._passes: dict[int, _Pass] = {}  # by number of a loader: the pass that runs
        self._loaders: dict[int, LoaderInfo] = {}

    def on_batch(self, event: Batch) -> None:
        """Note the rows of a batch as those of the worker whose turn it is."""
        loader = event.loader
        if loader.workers < 2 or not loader.batch_size:
            return
        if not isinstance(loader.dataset, self.session.engine.torch.utils.data.IterableDataset):
            return
        if not event.position:
            self._passes[loader.number] = _Pass(loader.workers)
            self._loaders[loader.number] = loader
        held = self._passes.get(loader.number)
        if held is None:
            return
        rows = _rows(event)
        if held.expected != event.position or not rows or held.total + len(rows) > _MOST:
            del self._passes[loader.number]
            return
        held.expected += 1
        held.total += len(rows)
        held.rows[event.position % loader.workers].update(rows)

    def on_pass(self, loader: LoaderInfo) -> None:
        """The pass before has ended."""
        self._judge(loader.number)

    def finish(self) -> None:
        """The last passes have ended."""
        for number in list(self._passes):
            self._judge(number)

    def _judge(self, number: int) -> None:
        held = self._passes.pop(number, None)
        if held is None:
            return
        first = held.rows[0]
        # a worker that gives a row twice draws with replacement
        once = held.total == len(first) * len(held.rows)
        if len(first) < _FEWEST or not once or any(rows != first for rows in held.rows):
            return
        loader = self._loaders[number]
        self.report(
            loader.site,
            f"each of the {len(first)} samples comes {len(held.rows)} times in one pass, once "
            "from each worker: every worker iterates over its whole copy of the "
            "IterableDataset.",
            evidence={"workers": loader.workers, "samples": len(first), "given": held.total},
            fix="divide the samples in `__iter__`: `info = torch.utils.data.get_worker_info()`, then every "
            "`info.num_workers`-th sample from `info.id` on",
        )


def _rows(event: Batch) -> list[bytes]:
    """A digest of each row of a batch; none when rows are too small to tell samples apart."""
    arrays = [a for v in event.values if v.ndim and (a := v.numpy()) is not None]
    count = len(arrays[0]) if arrays else 0
    if any(len(a) != count for a in arrays):
        return []
    if not any(a.dtype.kind == "f" and a.size >= _ELEMENTS * count for a in arrays):
        return []
    flat = [np.ascontiguousarray(a).reshape(count, -1) for a in arrays]
    return [fingerprint(*(a[k] for a in flat)) for k in range(count)]
