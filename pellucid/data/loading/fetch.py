"""Fetch the samples of one batch from a dataset."""

from __future__ import annotations

from typing import Any


class MapFetcher:
    """Samples by index."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """One batch (`index` is a list) or one sample."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        many = getattr(self.dataset, "__getitems__", None)
        samples = many(index) if many else [self.dataset[i] for i in index]
        return self.collate_fn(samples)


class IterableFetcher:
    """The next samples of a stream."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> None:
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.stream = iter(dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """As many samples as `index` is long, or one; StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.stream))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.stream))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate_fn(samples)


class _DatasetKind:
    """How samples are taken: by index, or from a stream."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> Any:
        """What takes the samples of one batch."""
        return (IterableFetcher if kind == _DatasetKind.Iterable else MapFetcher)(
            dataset, auto_collation, collate_fn, drop_last
        )
