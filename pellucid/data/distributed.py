"""The sampler that gives each process its share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

from ..core.public import FUNCTIONS
from ..core.streams.generator import Generator
from ..errors import ArgumentValueError, OperationError
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Gives each of `num_replicas` processes its own part of the samples: every `num_replicas`-th,
    starting with number `rank`.

    Args:
        dataset: what is sampled; its length counts.
        num_replicas, rank: how many processes there are, and which one this is; default: those of
            the process group.
        shuffle: a new random order in each epoch; call `set_epoch` before each one.
        seed: the same in all processes.
        drop_last: leave out the samples that do not fill a round of all processes, instead of
            repeating some.

    Raises:
        RuntimeError: `num_replicas` or `rank` is not given, and mpi4py is not installed.
            ValueError: nor is there a process group, or `rank` is not below `num_replicas`.

    >>> from pellucid.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from .. import distributed as dist

            if not dist.is_available():
                raise OperationError(
                    "Requires distributed package to be available",
                    hint="pass num_replicas= and rank=",
                )
            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ArgumentValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = (
            n // num_replicas if drop_last and n % num_replicas else math.ceil(n / num_replicas)
        )
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order: list[Any] = list(range(n))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = FUNCTIONS["torch"]["randperm"](n, generator=generator).tolist()
        if not self.drop_last and order:
            order = (order * math.ceil(self.total_size / n))[: self.total_size]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch. All processes then shuffle in the same order, and each epoch
        in another one."""
        self.epoch = epoch
