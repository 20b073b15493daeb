"""Samples of the training data that no batch ever contains."""

from __future__ import annotations

import ast

from ...events import Batch, LoaderInfo, Site, Step
from ...numbers import number_of
from ...rule import Rule
from ..source.places import Place, tree, walk


class SamplesMissing(Rule):
    """A `DistributedSampler` for several processes in a program that runs as one: it gives the share
    of one of them.
    """

    slug = "samples-missing"
    id = "PL923"
    severity = "error"
    summary = "training leaves out samples: the shares of processes that do not exist, all but the first batch, or all of them"

    def __init__(self) -> None:
        # by number of the data set: the ranks that samplers were made for, of how many, where the first
        self._shares: dict[int, tuple[set[int], int, Site | None]] = {}
        self._stepped = False
        self._passes: dict[tuple[str, int], int] = {}  # by place of a loop
        self._told: set[int] = set()

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._stepped = True

    def on_batch(self, event: Batch) -> None:
        """Which loops over a loader there are, and how often."""
        if not event.position and event.site is not None:
            self._passes[event.site.key] = self._passes.get(event.site.key, 0) + 1

    def on_pass(self, event: LoaderInfo) -> None:
        """A pass begins: through how much of the data?"""
        loader = event.loader
        self._no_batch(event)
        sampler = getattr(loader, "sampler", None)
        if not hasattr(sampler, "num_replicas"):  # it may be inside a sampler of batches
            sampler = getattr(getattr(loader, "batch_sampler", None), "sampler", sampler)
        shares = getattr(sampler, "num_replicas", None)
        if not isinstance(shares, int) or shares < 2 or len(self._shares) > 16:
            return
        distributed = self.session.engine.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return
        key = number_of(event.whole_dataset)
        site = self.session.recorder.parts.get(sampler) or event.site
        ranks, _, first = self._shares.get(key, (set[int](), shares, site))
        ranks.add(int(getattr(sampler, "rank", 0)))
        self._shares[key] = ranks, shares, first

    def _no_batch(self, event: LoaderInfo) -> None:
        """`drop_last=True` with fewer samples than a batch: there is no batch at all."""
        if not event.drop_last or event.number in self._told or not event.batch_size:
            return
        try:
            rows, batches = len(event.dataset), len(event.loader)
        except TypeError:  # of a stream
            return
        if rows and not batches:
            self._told.add(event.number)
            self.report(
                event.site,
                f"this loader returns no batch at all: it has only {rows} samples, a batch size of {event.batch_size}, and drop_last=True.",
                evidence={"samples": rows, "batch_size": event.batch_size},
                fix="drop_last=False, or a smaller batch_size",
            )

    def _broken_off(self, file: str, root: ast.Module) -> None:
        """A `break` at the end of a training loop's body, whatever happens."""
        for outer in (n for n in walk(root) if isinstance(n, ast.For)):
            if "epoch" not in ast.unparse(outer.target).lower():
                continue
            for loop in (n for n in ast.walk(outer) if isinstance(n, ast.For) and n is not outer):
                last = loop.body[-1]
                calls = {
                    getattr(n.func, "attr", "") for n in ast.walk(loop) if isinstance(n, ast.Call)
                }
                if not isinstance(last, ast.Break) or "backward" not in calls:
                    continue
                if self._passes.get((file, loop.lineno), 0) < 2:
                    continue
                self.report(
                    Place(file, last.lineno),
                    "this `break` ends the loop after its first batch in each epoch: the other batches are never used.",
                    evidence={"loop_at": str(Place(file, loop.lineno))},
                    fix="remove it, or put it under a condition",
                )

    def finish(self) -> None:
        """Shares of one rank only."""
        for file in self.session.recorder.files(self.session.script) if self._stepped else ():
            root = tree(file)
            if root is not None:
                self._broken_off(file, root)
        for ranks, shares, site in self._shares.values() if self._stepped else ():
            if len(ranks) > 1:
                continue  # each in turn
            self.report(
                site,
                f"this sampler has num_replicas={shares} and rank={min(ranks)}, but there is no process group: {1 - 1 / shares:.0%} of the samples "
                "are never used.",
                evidence={"num_replicas": shares},
                fix="`num_replicas=1, rank=0` or a plain `shuffle=True` in a single process; start several with torchrun",
            )
