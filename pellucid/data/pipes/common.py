"""The common pipes of data, which methods chain: `IterableWrapper(range(4)).map(str).batch(2)`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy as _deepcopy
from enum import IntEnum
from typing import Any

from ..collate import default_collate
from ..sampler import draw_seed
from .base import (
    DataChunk,
    IterDataPipe,
    check_columns,
    checked_function,
    functional_datapipe,
    length_of,
)


class IterableWrapperIterDataPipe(IterDataPipe):
    """The samples of an iterable, which is copied for each iterator unless `deepcopy` is false."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        yield from _deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self) -> int:
        return length_of(self, self.iterable)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """`fn` of each sample; of the column `input_col` alone, whose place or `output_col` takes the
    result.
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        checked_function(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        self.datapipe, self.fn, self.input_col, self.output_col = (
            datapipe,
            fn,
            input_col,
            output_col,
        )
        check_columns(fn, input_col)

    def _apply(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, (list, tuple))
        made = (
            self.fn(*(data[c] for c in self.input_col))
            if several
            else self.fn(data[self.input_col])
        )
        again = tuple(data) if isinstance(data, tuple) else None
        row = list(data) if again is not None else type(data)(data)
        if self.output_col == -1 and isinstance(row, list):
            row.append(made)
        else:
            place = (
                self.output_col
                if self.output_col is not None
                else (self.input_col[0] if several else self.input_col)
            )
            row[place] = made
        return tuple(row) if again is not None else row

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply(data)

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples (or those whose column `input_col`) for which `filter_fn` is true."""

    def __init__(
        self, datapipe: Iterable[Any], filter_fn: Callable[..., Any], input_col: Any = None
    ) -> None:
        checked_function(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col
        check_columns(filter_fn, input_col)

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            kept = self.filter_fn(data if self.input_col is None else data[self.input_col])
            if not isinstance(kept, bool):
                raise ValueError(
                    "Boolean output is required for `filter_fn` of FilterIterDataPipe, got",
                    type(kept),
                )
            if kept:
                yield data


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Lists of `batch_size` samples; the last may be shorter unless `drop_last`."""

    def __init__(
        self,
        datapipe: Iterable[Any],
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

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for data in self.datapipe:
            batch.append(data)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        n = length_of(self, self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """Samples out of lists, `unbatch_level` deep (-1: all the way)."""

    def __init__(self, datapipe: Iterable[Any], unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for data in self.datapipe:
            yield from self._dive(data, self.unbatch_level)

    def _dive(self, data: Any, level: int) -> Iterator[Any]:
        if level == 0 or level == -1 and not isinstance(data, list):
            yield data
            return
        if not isinstance(data, list):
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        for item in data:
            yield from self._dive(item, level - (level > 0))


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe):
    """Samples in random order, drawn from a buffer of `buffer_size`; the seed is `set_seed`'s or
    comes from the default generator.
    """

    def __init__(
        self, datapipe: Iterable[Any], *, buffer_size: int = 10000, unbatch_level: int = 0
    ) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = (
            datapipe if unbatch_level == 0 else UnBatcherIterDataPipe(datapipe, unbatch_level)
        )
        self.buffer_size, self._enabled = buffer_size, True
        self._seed: int | None = None
        self._random = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switch shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iterator."""
        self._seed = seed
        return self

    def reset(self) -> None:
        if self._enabled:
            seed = self._seed
            self._random.seed(draw_seed() if seed is None else seed)
            self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[Any] = []
        for data in self.datapipe:
            if len(buffer) == self.buffer_size:
                place = self._random.randint(0, len(buffer) - 1)
                chosen, buffer[place] = buffer[place], data
                yield chosen
            else:
                buffer.append(data)
        while buffer:
            yield buffer.pop(self._random.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """One pipe after the other."""

    def __init__(self, *datapipes: Iterable[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(length_of(self, pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of a sample of each pipe, as long as the shortest."""

    def __init__(self, *datapipes: Iterable[Any]) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(length_of(self, pipe) for pipe in self.datapipes)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches made tensors of by `collate_fn`."""

    def __init__(
        self,
        datapipe: Iterable[Any],
        conversion: Any = None,
        collate_fn: Callable[..., Any] = default_collate,
    ) -> None:
        super().__init__(datapipe, conversion if callable(conversion) else collate_fn)


class SHARDING_PRIORITIES(IntEnum):
    """In which order shards of several groups of processes are nested; DEFAULT: there is one group."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


class _ShardingIterDataPipe(IterDataPipe):
    """A pipe that a DataLoader asks to take its share of the samples."""

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES
    ) -> None:
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Each `n`-th sample, after `apply_sharding(n, k)` from the k-th on; all of them before.

    Args:
        sharding_group_filter: the group that counts, where shards of several were applied; None:
            all of them.
    """

    def __init__(
        self,
        source_datapipe: Iterable[Any],
        sharding_group_filter: SHARDING_PRIORITIES | None = None,
    ) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Which samples to take.

        Raises:
            ValueError: the instance is not one of them.
            RuntimeError: shards of the default group and of another.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if any((group == default) != (sharding_group == default) for group in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        # the group of the highest number takes every n-th sample, the next one every n-th of those
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter in (None, group):
                count, place = self.groups[group]
                self.instance_id += self.num_of_instances * place
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        for k, data in enumerate(self.source_datapipe):
            if k % self.num_of_instances == self.instance_id:
                yield data

    def __len__(self) -> int:
        n = length_of(self, self.source_datapipe)
        return n // self.num_of_instances + (self.instance_id < n % self.num_of_instances)
