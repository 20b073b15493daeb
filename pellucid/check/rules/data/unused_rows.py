"""Samples of the training data that no batch ever contains."""

from __future__ import annotations

from ...events import LoaderInfo, Site, Step
from ...rule import Rule


class SamplesMissing(Rule):
    """A `DistributedSampler` for several processes in a program that runs as one: it gives the share
    of one of them.
    """

    slug = "samples-missing"
    id = "PL923"
    severity = "error"
    summary = "a sampler gives the share of one process, and there are no others"

    def __init__(self) -> None:
        # by id of the data set: the ranks that samplers were made for, of how many, where the first
        self._shares: dict[int, tuple[set[int], int, Site | None]] = {}
        self._stepped = False

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._stepped = True

    def on_pass(self, event: LoaderInfo) -> None:
        """A pass begins: through how much of the data?"""
        loader = event.loader
        sampler = getattr(loader, "sampler", None)
        if not hasattr(sampler, "num_replicas"):  # it may be inside a sampler of batches
            sampler = getattr(getattr(loader, "batch_sampler", None), "sampler", sampler)
        shares = getattr(sampler, "num_replicas", None)
        if not isinstance(shares, int) or shares < 2 or len(self._shares) > 16:
            return
        distributed = self.session.engine.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return
        key = id(event.whole_dataset)
        site = self.session.recorder.parts.get(sampler) or event.site
        ranks, _, first = self._shares.get(key, (set[int](), shares, site))
        ranks.add(int(getattr(sampler, "rank", 0)))
        self._shares[key] = ranks, shares, first

    def finish(self) -> None:
        """Shares of one rank only."""
        for ranks, shares, site in self._shares.values() if self._stepped else ():
            if len(ranks) > 1:
                continue  # each in turn
            self.report(
                site,
                f"this sampler has num_replicas={shares} and rank={min(ranks)}, and no process group runs: {1 - 1 / shares:.0%} of the samples are "
                "never used.",
                evidence={"num_replicas": shares},
                fix="`num_replicas=1, rank=0` or a plain `shuffle=True` in a single process; start several with torchrun",
            )
