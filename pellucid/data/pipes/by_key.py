"""The common pipes by key: `SequenceWrapper("abc").map(str.upper).batch(2)`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy as _deepcopy
from typing import Any

from ..sampler import draw_seed
from .base import DataChunk, IterDataPipe, MapDataPipe, checked_function, functional_datapipe


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The samples of a sequence or a dict, which is copied unless `deepcopy` is false."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = _deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """`fn` of each sample."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe, self.fn = datapipe, checked_function(fn)

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Lists of `batch_size` samples of keys 0, 1, ...; the last may be shorter unless `drop_last`."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Any = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = (
            datapipe,
            batch_size,
            drop_last,
            wrapper_class,
        )

    def __getitem__(self, index: int) -> Any:
        places = range(
            index * self.batch_size, min((index + 1) * self.batch_size, len(self.datapipe))
        )
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        return self.wrapper_class([self.datapipe[k] for k in places])

    def __len__(self) -> int:
        n = len(self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """One pipe after the other, by keys 0, 1, ..."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes: Sequence[Any] = datapipes

    def __getitem__(self, index: int) -> Any:
        at = index
        for pipe in self.datapipes:
            if at < len(pipe):
                return pipe[at]
            at -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of a sample of each pipe, by keys that all have."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class ShufflerIterDataPipe(IterDataPipe):
    """The samples of a pipe by key, in random order; the seed is `set_seed`'s or comes from the
    default generator.

    Args:
        indices: the keys; None: 0, 1, ...
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._random = random.Random()
        self._left = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switch shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iterator."""
        self._seed = seed
        return self

    def reset(self) -> None:
        seed, self._seed = self._seed, None
        if self._enabled:
            self._random.seed(draw_seed() if seed is None else seed)
            self._left = self._random.sample(self.indices, len(self.indices))

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for key in self.indices:
                yield self.datapipe[key]
            return
        while self._left:
            yield self.datapipe[self._left.pop()]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
