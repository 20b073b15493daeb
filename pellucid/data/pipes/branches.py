"""Pipes that part or join streams: `fork`, `demux`, `mux`, `groupby` and `Sampler`.

The parts of a stream share it: a second iterator of one of them begins it again and ends the iterators
of the others.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...errors import warn
from ..sampler import SequentialSampler
from .base import (
    _FEEDBACK,
    IterDataPipe,
    checked_function,
    described,
    functional_datapipe,
    length_of,
)


class _Source(IterDataPipe):
    """A stream that several pipes read; a subclass says which of them a sample is for."""

    method = ""
    overflow = ""

    def __init__(self, datapipe: Iterable[Any], num_instances: int, buffer_size: int) -> None:
        if buffer_size < 0:
            warn(
                f"Unlimited buffer size is set for `{self.method}`, please be aware of OOM at random places",
                UserWarning,
            )
        self.main_datapipe, self.num_instances, self.buffer_size = (
            datapipe,
            num_instances,
            buffer_size,
        )
        self.reset()

    def reset(self) -> None:
        """Read the stream from its start."""
        self.stream: Iterator[Any] | None = None
        self.ended = False
        self.reading: set[int] = set()  # the pipes that may still ask for samples
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.num_instances)]

    def next_turn(self, of_child: int | None) -> int:
        """The turn that a new iterator of a pipe is in: a new one where the pipe was in the last."""
        if self._valid_iterator_id is None:
            self._valid_iterator_id = 0
        elif self._valid_iterator_id == of_child:
            self._valid_iterator_id += 1
            if self.reading or not self.ended:
                warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting "
                    "the buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                )
            self.reset()
        return self._valid_iterator_id

    def __getstate__(self) -> Any:
        state = {
            name: value
            for name, value in vars(self).items()
            if name not in ("stream", "ended", "reading", "waiting")
        }
        hook = IterDataPipe.getstate_hook
        return state if hook is None else hook(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.reset()

    def targets(self, item: Any) -> Iterable[int]:
        """The pipes that get a sample."""
        raise NotImplementedError

    def given(self, item: Any) -> Any:
        """What a pipe gets for a sample."""
        return item

    def ahead(self, place: int) -> int:
        """How many samples wait, now that there is one for a pipe."""
        return sum(map(len, self.waiting)) - bool(self.waiting[place])

    def samples(self, place: int) -> Iterator[Any]:
        """The samples of a pipe.

        Raises:
            BufferError: more samples wait for other pipes than `buffer_size`.
        """
        if self.stream is None and not self.ended:
            self.stream = iter(self.main_datapipe)
            self.reading = set(range(self.num_instances))
        try:
            while place in self.reading:
                while not self.waiting[place] and not self.ended:
                    assert self.stream is not None
                    try:
                        item = next(self.stream)
                    except StopIteration:
                        self.ended, self.stream = True, None
                        break
                    for target in self.targets(item):
                        self.waiting[target].append(item)
                    if 0 <= self.buffer_size < self.ahead(place):
                        raise BufferError(self.overflow.format(self.buffer_size))
                if not self.waiting[place]:
                    break
                yield self.given(self.waiting[place].popleft())
        finally:
            self.reading.discard(place)


class _ForkerIterDataPipe(_Source):
    method, overflow = "fork", "ForkerIterDataPipe buffer overflow,buffer size {} is insufficient."

    def __init__(
        self, datapipe: Iterable[Any], num_instances: int, buffer_size: int, how: str | None
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        self._copy = {None: None, "shallow": copy.copy, "deep": copy.deepcopy}[how]

    def targets(self, item: Any) -> Iterable[int]:
        return range(self.num_instances)

    def given(self, item: Any) -> Any:
        return item if self._copy is None else self._copy(item)

    def ahead(self, place: int) -> int:
        return max(map(len, self.waiting))


class _DemultiplexerIterDataPipe(_Source):
    method, overflow = (
        "demux",
        "DemultiplexerIterDataPipe buffer overflow, buffer size {} is insufficient.",
    )

    def __init__(
        self,
        datapipe: Iterable[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], Any],
        drop_none: bool,
        buffer_size: int,
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn, self.drop_none = checked_function(classifier_fn), drop_none

    def targets(self, item: Any) -> Iterable[int]:
        chosen = self.classifier_fn(item)
        if chosen is None and self.drop_none:
            return ()
        if chosen is None or not 0 <= chosen < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {chosen} is returned."
            )
        return (int(chosen),)


class _ChildDataPipe(IterDataPipe):
    """One of the pipes that share a stream."""

    def __init__(self, main_datapipe: _Source, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.samples(self.instance_id)

    def _begin(self) -> int:
        turn = self._valid_iterator_id = self.main_datapipe.next_turn(self._valid_iterator_id)
        return turn

    def _check_valid(self, number: int) -> None:
        if not number == self._valid_iterator_id == self.main_datapipe._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from one of the ChildDataPipes of "
                f"{described(self.main_datapipe)}." + _FEEDBACK
            )

    def __len__(self) -> int:
        if isinstance(self.main_datapipe, _DemultiplexerIterDataPipe):
            raise TypeError
        return length_of(self, self.main_datapipe.main_datapipe)


def _children(source: _Source) -> list[_ChildDataPipe]:
    return [_ChildDataPipe(source, k) for k in range(source.num_instances)]


def _some(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A stream as several pipes, each of which has all samples.

    Args:
        num_instances: how many.
        buffer_size: how many samples one may be ahead of another; negative: any number.
        copy: None, "shallow" or "deep": whether each gets copies.
    """

    def __new__(
        cls,
        datapipe: Iterable[Any],
        num_instances: int,
        buffer_size: int = 1000,
        copy: str | None = None,
    ) -> Any:
        _some(num_instances)
        if num_instances == 1:
            return datapipe
        if copy not in (None, "shallow", "deep"):
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A stream parted into several pipes by what `classifier_fn` answers: the number of the pipe.

    Args:
        drop_none: leave out samples for which it answers None.
        buffer_size: how many samples may wait; negative: any number.
    """

    def __new__(
        cls,
        datapipe: Iterable[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], Any],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _some(num_instances)
        return _children(
            _DemultiplexerIterDataPipe(
                datapipe, num_instances, classifier_fn, drop_none, buffer_size
            )
        )


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One sample of each pipe in turn, until one of them ends."""

    def __init__(self, *datapipes: Iterable[Any]) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*self.datapipes, strict=False):
            yield from row

    def __len__(self) -> int:
        return min(length_of(self, pipe) for pipe in self.datapipes) * len(self.datapipes)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of samples for which `group_key_fn` answers the same.

    Args:
        keep_key: pairs of the key and the list.
        buffer_size: how many samples may wait; then the largest list is given before it is
            complete.
        group_size: how long a list is when it is complete; None: it never is.
        guaranteed_group_size: the shortest list that may be given because too many samples wait;
            `group_size` by default.
        drop_remaining: leave out lists that are shorter than that.
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (
            group_size is None or not 0 < guaranteed_group_size <= group_size
        ):
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        checked_function(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key, self.max_buffer_size = (
            datapipe,
            group_key_fn,
            keep_key,
            buffer_size,
        )
        self.group_size, self.drop_remaining = group_size, drop_remaining
        self.guaranteed_group_size = (
            group_size if guaranteed_group_size is None else guaranteed_group_size
        )

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = {}

        def taken(key: Any) -> Any:
            group = groups.pop(key)
            return (key, group) if self.keep_key else group

        waiting = 0
        for item in self.datapipe:
            key = self.group_key_fn(item)
            group = groups.setdefault(key, [])
            group.append(item)
            waiting += 1
            if len(group) == self.group_size:
                waiting -= len(group)
                yield taken(key)
            if waiting == self.max_buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                size = len(groups[largest])
                enough = self.guaranteed_group_size is None or size >= self.guaranteed_group_size
                if not enough and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(groups[largest]))
                waiting -= size
                found = taken(largest)
                if enough:
                    yield found
        while groups:
            key = next(iter(groups))
            yield taken(key)


class SamplerIterDataPipe(IterDataPipe):
    """The samples of a pipe in the order of a sampler's class."""

    def __init__(
        self,
        datapipe: Any,
        sampler: Any = SequentialSampler,
        sampler_args: Sequence[Any] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(
            *(sampler_args or ()), **{"data_source": datapipe, **(sampler_kwargs or {})}
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)
