"""Samplers: the order in which samples are taken, with PyTorch's random numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ..core.public import FUNCTIONS
from ..core.streams import generator as random
from ..core.streams import integers as random_integers
from ..errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)
_torch = FUNCTIONS["torch"]


def draw_seed(generator: Any = None) -> int:
    """A random int64 from the generator (default: the global one)."""
    import numpy as np

    source = random.default_generator if generator is None else generator
    return int(random_integers.random_integers(source, np.empty((), np.int64)))


class Sampler(Generic[T_co]):
    """Base class of samplers, which iterate over indices. A subclass defines `__iter__`.

    Example:
        >>> class Backwards(Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> list(Backwards("abc"))
        [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Samples in order: 0, 1, 2, ...

    Example:
        >>> list(SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples in random order, or drawn with replacement.

    Args:
        data_source: what is sampled.
        replacement: draw with replacement.
        num_samples: number of draws (default: all).
        generator: random stream; without one, a new one is seeded from the global stream each time.

    Example:
        >>> sorted(RandomSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise ArgumentTypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ArgumentValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many samples one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = random.Generator()
            generator.manual_seed(draw_seed())
        if self.replacement:
            for _ in range(self.num_samples // 32):
                yield from _torch["randint"](high=n, size=(32,), generator=generator).tolist()
            yield from _torch["randint"](
                high=n, size=(self.num_samples % 32,), generator=generator
            ).tolist()
        else:
            for _ in range(self.num_samples // n):
                yield from _torch["randperm"](n, generator=generator).tolist()
            yield from _torch["randperm"](n, generator=generator).tolist()[: self.num_samples % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Samples from given indices, in random order.

    Example:
        >>> sorted(SubsetRandomSampler([0, 2, 4]))
        [0, 2, 4]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in _torch["randperm"](len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Draws indices with probabilities proportional to weights.

    Example:
        >>> list(WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ArgumentValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ArgumentValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        from ..dtypes import float64

        tensor = _torch["as_tensor"](weights, dtype=float64)
        if tensor.ndim != 1:
            raise ArgumentValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(tensor.shape)}"
            )
        self.weights = tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = _torch["multinomial"](
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups another sampler's indices into lists of `batch_size`; `drop_last` drops the last,
    shorter list.

    Example:
        >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ArgumentValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ArgumentValueError(
                f"drop_last should be a boolean value, but got drop_last={drop_last}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        source = iter(self.sampler)
        while batch := list(itertools.islice(source, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of streams, which have no indices."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None
