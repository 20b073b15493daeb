"""Datasets, map-style and iterable, and combinations of them."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..core import observe
from ..core.public import FUNCTIONS
from ..core.streams.generator import default_generator
from ..core.tensor import Tensor, make_tensor, version_of
from ..errors import ArgumentValueError, hinted, warn

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base class of datasets that map keys to samples. A subclass defines `__getitem__`, usually
    `__len__`, and optionally `__getitems__`.

    Example:
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, k):
        ...         return k * k
        >>> Squares()[2]
        4
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples. A subclass defines `__iter__`. Each worker process has its own copy, so
    it has to take its own part of the stream; see `get_worker_info`.

    Example:
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count())
        [0, 1, 2]
    """

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """A dataset of tensors with equal first dimensions; a sample is one slice of each.

    Example:
        >>> import pellucid as torch
        >>> TensorDataset(torch.arange(4), torch.zeros(4))[2]
        (tensor(2), tensor(0.))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].shape[0] != t.shape[0] for t in tensors):
            counts = " and ".join(str(t.shape[0]) for t in tensors)
            raise hinted(
                AssertionError("Size mismatch between tensors"),
                f"their first dimensions are {counts}, but every tensor needs one entry per sample",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __getitems__(self, indices: list[int]) -> list[tuple[Tensor, ...]]:
        """Many samples at once."""
        plain = type(self).__getitem__ is TensorDataset.__getitem__
        if not plain or any(t._rg or type(t._array) is not np.ndarray for t in self.tensors):
            return [self[i] for i in indices]
        # Views like those of indexing, without its bookkeeping for gradients.
        columns = []
        for t in self.tensors:
            array, version = t._array, version_of(t)
            column = [make_tensor(array[i, ...]) for i in indices]
            for sample in column:
                sample._ver = version
            if observe.observers and column:
                observe.notify("created", column[0], (t,))
            columns.append(column)
        return list(zip(*columns))

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Combines datasets of equal length: samples are tuples (positional arguments) or dictionaries
    (keywords).

    Example:
        >>> pairs = StackDataset([1, 2], ["a", "b"])
        >>> pairs[0]
        (1, 'a')
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ArgumentValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ArgumentValueError("At least one dataset should be passed")
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(d) != self._length for d in parts):
            raise ArgumentValueError("Size mismatch between datasets")
        self.datasets: Any = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Many samples at once, by the parts' own `__getitems__` where they have it."""
        if isinstance(self.datasets, dict):
            columns = {k: _fetch_many(d, indices) for k, d in self.datasets.items()}
            return [{k: column[i] for k, column in columns.items()} for i in range(len(indices))]
        rows = [_fetch_many(d, indices) for d in self.datasets]
        return list(zip(*rows))

    def __len__(self) -> int:
        return self._length


def _fetch_many(dataset: Any, indices: list[Any]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ArgumentValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}"
        )
    return items


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Example:
        >>> both = ConcatDataset([["a", "b"], ["c"]])
        >>> len(both), both[2]
        (3, 'c')
    """

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Running sums of the lengths."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ArgumentValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][idx - before]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`."""
        warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Chains several iterable datasets.

    >>> import pellucid as torch
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from d

    def __len__(self) -> int:
        total = 0
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            total += len(d)  # type: ignore[arg-type]
        return total


class Subset(Dataset[T_co]):
    """The samples of a dataset at given indices.

    Args:
        dataset: a dataset that is indexed by number.
        indices: which samples, in which order.

    Example:
        >>> part = Subset(["a", "b", "c"], [2, 0])
        >>> list(part)
        ['c', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Many samples at once, by the dataset's own `__getitems__` where it has it."""
        if (
            type(self).__getitem__ is not Subset.__getitem__
            and type(self).__getitems__ is Subset.__getitems__
        ):
            return [self[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__([self.indices[i] for i in indices])
        return [self.dataset[self.indices[i]] for i in indices]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = default_generator
) -> list[Subset[Any]]:
    """Split the samples randomly into subsets of the given lengths or fractions.

    Raises:
        ValueError: the lengths do not add up to that of the dataset.

    Example:
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    total = sum(lengths)
    if math.isclose(total, 1) and total <= 1:
        sizes = []
        for i, share in enumerate(lengths):
            if share < 0 or share > 1:
                raise ArgumentValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes.append(math.floor(len(dataset) * share))
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.",
                )
    else:
        sizes = list(lengths)  # type: ignore[arg-type]
    if sum(sizes) != len(dataset):
        raise ArgumentValueError(
            "Sum of input lengths does not equal the length of the input dataset!"
        )
    order = FUNCTIONS["torch"]["randperm"](sum(sizes), generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes)]
