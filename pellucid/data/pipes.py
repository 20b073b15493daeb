"""Pipelines of data: `IterDataPipe` and `MapDataPipe`, and the common ones, which methods chain:
`IterableWrapper(range(4)).map(str).batch(2)`.

An iterator of an iterable pipe is invalid once another one is made from the same pipe, as in
PyTorch.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy as _deepcopy
from typing import Any

from .. import dtypes
from ..core.public import FUNCTIONS, METHODS
from .collate import default_collate
from .dataset import Dataset, IterableDataset

_INVALID = (
    "This iterator has been invalidated because another iterator has been created from the same IterDataPipe: {}\n"
    "This may be caused by multiple references to the same IterDataPipe. We recommend using `.fork()` if that is necessary.\n"
    "For feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
    "https://github.com/pytorch/data/issues/45."
)


class _Pipe:
    """What both kinds have: methods by name, and a short text."""

    functions: dict[str, Callable[..., Any]]

    def __getattr__(self, name: str) -> Any:
        made = type(self).functions.get(name) if not name.startswith("__") else None
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(made, self)

    @classmethod
    def register_function(cls, name: str, function: Callable[..., Any]) -> None:
        """Make a function a method of all pipes of this kind."""
        cls.functions[name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, name: str, pipe: Callable[..., Any], enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class of pipes a method of all pipes of this kind.

        Raises:
            Exception: there is a method of that name.
        """
        if name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")
        cls.functions[name] = pipe

    def __str__(self) -> str:
        return type(self).__qualname__

    __repr__ = __str__


class IterDataPipe(_Pipe, IterableDataset[Any]):
    """A stream of samples that others can be chained to; a subclass defines `__iter__`."""

    functions: dict[str, Callable[..., Any]] = {}
    _turn = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__iter__")
        if own is not None:
            cls.__iter__ = _single(own)  # type: ignore[method-assign]

    def reset(self) -> None:
        """What a new iterator begins with; a subclass may define it."""


def _single(own: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """`__iter__`, whose iterators end when a new one is made."""

    @functools.wraps(own)
    def __iter__(self: IterDataPipe) -> Iterator[Any]:
        self._turn = turn = self._turn + 1
        self.reset()
        return _checked(self, own(self), turn)

    return __iter__


def _checked(pipe: IterDataPipe, source: Iterator[Any], turn: int) -> Iterator[Any]:
    while True:
        if pipe._turn != turn:
            given = ", ".join(
                f"{k}={v}" for k, v in sorted(vars(pipe).items()) if not k.startswith("_")
            )
            raise RuntimeError(_INVALID.format(f"{pipe}({given})"))
        try:
            item = next(source)
        except StopIteration:
            return
        yield item


class MapDataPipe(_Pipe, Dataset[Any]):
    """Samples by key that others can be chained to; a subclass defines `__getitem__` and `__len__`."""

    functions: dict[str, Callable[..., Any]] = {}


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""


class DataChunk(list):
    """A batch: a list of samples."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Any]:
        yield from self.items


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[type], type]:
    """Register a class of pipes as a method: `@functional_datapipe("twice")` gives all pipes of its
    kind `.twice(...)`.

    Example:
        >>> @functional_datapipe("twice_over")
        ... class Twice(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         for x in self.source:
        ...             yield from (x, x)
        >>> list(IterableWrapperIterDataPipe([1, 2]).twice_over())
        [1, 1, 2, 2]
    """

    def register(cls: type) -> type:
        for kind in (IterDataPipe, MapDataPipe):
            if issubclass(cls, kind):
                kind.register_datapipe_as_function(name, cls, enable_df_api_tracing)
                return cls
        raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")

    return register


def _length(pipe: Any, source: Any) -> int:
    if hasattr(type(source), "__len__"):
        return len(source)
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


# ---- iterable pipes --------------------------------------------------------------------------------
class IterableWrapperIterDataPipe(IterDataPipe):
    """The samples of an iterable, which is copied for each iterator unless `deepcopy` is false."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        yield from _deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self) -> int:
        return _length(self, self.iterable)


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
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        self.datapipe, self.fn, self.input_col, self.output_col = (
            datapipe,
            fn,
            input_col,
            output_col,
        )

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
        return _length(self, self.datapipe)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples (or those whose column `input_col`) for which `filter_fn` is true."""

    def __init__(
        self, datapipe: Iterable[Any], filter_fn: Callable[..., Any], input_col: Any = None
    ) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            kept = self.filter_fn(data if self.input_col is None else data[self.input_col])
            if not isinstance(kept, bool):
                raise ValueError(
                    f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(kept)}"
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
        n = _length(self, self.datapipe)
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
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = (
            datapipe if unbatch_level == 0 else UnBatcherIterDataPipe(datapipe, unbatch_level)
        )
        self.buffer_size, self._enabled, self._seed = buffer_size, True, None
        self._random = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switch shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iterator."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def reset(self) -> None:
        if self._enabled:
            seed = self._seed
            self._random.seed(
                METHODS["random_"](FUNCTIONS["torch"]["empty"]((), dtype=dtypes.int64)).item()
                if seed is None
                else seed
            )
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
        return _length(self, self.datapipe)


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
        return sum(_length(self, pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of a sample of each pipe, as long as the shortest."""

    def __init__(self, *datapipes: Iterable[Any]) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_length(self, pipe) for pipe in self.datapipes)


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


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """Each `n`-th sample, after `apply_sharding(n, k)` from the k-th on; all of them before."""

    def __init__(self, source_datapipe: Iterable[Any]) -> None:
        self.source_datapipe, self.num_of_instances, self.instance_id = source_datapipe, 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: Any = None
    ) -> None:
        """Which samples to take.

        Raises:
            ValueError: the instance is not one of them.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        for k, data in enumerate(self.source_datapipe):
            if k % self.num_of_instances == self.instance_id:
                yield data

    def __len__(self) -> int:
        n = _length(self, self.source_datapipe)
        return n // self.num_of_instances + (self.instance_id < n % self.num_of_instances)


# ---- pipes by key ----------------------------------------------------------------------------------
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
        self.datapipe, self.fn = datapipe, fn

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
