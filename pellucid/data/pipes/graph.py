"""Which pipes a pipeline consists of, and settings for all of them: shares of the samples, random
seeds, shuffling. A DataLoader makes these settings in each of its processes.
"""

from __future__ import annotations

import inspect
import io
import pickle
import threading
from collections.abc import Collection, Iterator
from typing import Any

from ...errors import warn
from ..sampler import draw_seed
from .base import IterDataPipe, MapDataPipe
from .common import SHARDING_PRIORITIES, _ShardingIterDataPipe

_KINDS = (IterDataPipe, MapDataPipe)
_lock = threading.Lock()  # the hooks belong to the classes


def _kept(state: Any) -> Any:
    """Of a pipe's state, the pipes and the collections, which may hold pipes."""
    wanted = (*_KINDS, Collection)
    if isinstance(state, dict):
        return {name: value for name, value in state.items() if isinstance(value, wanted)}
    if isinstance(state, (tuple, list)):
        return [value for value in state if isinstance(value, wanted)]
    return state if isinstance(state, wanted) else None


def _nothing() -> None:
    """What stands for a pipe in a pickle that is only made to see which pipes go into it."""


def _sources(pipe: Any, only_datapipe: bool, above: set[int]) -> list[Any]:
    """The pipes that one reads: those that go into its pickle. Pipes whose ids are in `above` are
    looked through.
    """
    found: list[Any] = []

    def seen(other: Any) -> Any:
        if id(other) in above or any(other is known for known in found):
            raise NotImplementedError  # pickle it as usual
        found.append(other)
        return _nothing, ()

    with _lock:
        try:
            for kind in _KINDS:
                kind.set_reduce_ex_hook(seen)
                if only_datapipe:
                    kind.set_getstate_hook(_kept)
            pickle.Pickler(io.BytesIO()).dump(pipe)
        finally:
            for kind in _KINDS:
                kind.set_reduce_ex_hook(None)
                if only_datapipe:
                    kind.set_getstate_hook(None)
    return found


def _graph(pipe: Any, only_datapipe: bool, above: set[int]) -> dict[int, Any]:
    if not isinstance(pipe, _KINDS):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    path = above | {id(pipe)}
    below: dict[int, Any] = {}
    for source in _sources(pipe, only_datapipe, path):
        below.update(_graph(source, only_datapipe, path))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe: Any) -> dict[int, Any]:
    """The graph of pipes that end in one: `{id(pipe): (pipe, graph of the pipes it reads)}`. Pipes
    are found in a pipe's attributes and in lists, tuples, sets and dicts there.

    Example:
        >>> from pellucid.utils.data.datapipes.iter import IterableWrapper
        >>> pipe = IterableWrapper(range(3)).map(abs)
        >>> (end, below), = traverse_dps(pipe).values()
        >>> end, [source for source, _ in below.values()]
        (MapperIterDataPipe, [IterableWrapperIterDataPipe])
    """
    return _graph(datapipe, True, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, Any]:
    """Deprecated: `traverse_dps`, or with `only_datapipe` false (the default) all that pickling a
    pipe visits.
    """
    message = (
        "`traverse` function is deprecated and will be removed after 1.13. "
        "Please use `traverse_dps` instead."
    )
    if not only_datapipe:
        message += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warn(message, FutureWarning)
    return _graph(datapipe, bool(only_datapipe), set())


def get_all_graph_pipes(graph: dict[int, Any]) -> list[Any]:
    """The pipes of a graph of `traverse_dps`, each once, a pipe before those it reads."""
    pipes: dict[int, Any] = {}

    def visit(part: dict[int, Any]) -> None:
        for key, (pipe, below) in part.items():
            if key not in pipes:
                pipes[key] = pipe
                visit(below)

    visit(graph)
    return list(pipes.values())


def _with_methods(datapipe: Any, *names: str) -> Iterator[Any]:
    """The pipes of a pipeline that have these methods."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if all(inspect.ismethod(getattr(pipe, name, None)) for name in names):
            yield pipe


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: Any = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Let the pipes that have `apply_sharding` take every `num_of_instances`-th sample, from number
    `instance_id` on.

    Raises:
        RuntimeError: one of these pipes reads another.

    Example:
        >>> from pellucid.utils.data.datapipes.iter import IterableWrapper
        >>> list(apply_sharding(IterableWrapper(range(7)).sharding_filter(), 3, 1))
        [1, 4]
    """

    def visit(graph: dict[int, Any], sharded: Any) -> None:
        for pipe, below in graph.values():
            shares = isinstance(pipe, _ShardingIterDataPipe) or inspect.ismethod(
                getattr(pipe, "apply_sharding", None)
            )
            if shares and sharded is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {sharded} while trying to apply to {pipe}"
                )
            if shares:
                takes_group = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                group = {"sharding_group": sharding_group} if takes_group else {}
                pipe.apply_sharding(num_of_instances, instance_id, **group)
            visit(below, pipe if shares else sharded)

    visit(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch the shuffling of a pipeline's pipes on or off; None: leave it.

    With `shuffle=True` a pipeline that has no such pipe gets one at its end, with a warning.
    """
    if shuffle is None:
        return datapipe
    shufflers = list(_with_methods(datapipe, "set_shuffle", "set_seed"))
    if shuffle and not shufflers:
        warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give each pipe that has `set_seed` a seed drawn from a generator."""
    for pipe in list(_with_methods(datapipe, "set_seed")):
        pipe.set_seed(draw_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """Deprecated: `apply_random_seed`."""
    warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
        "Please use `apply_random_seed` instead.",
        FutureWarning,
    )
    return apply_random_seed(datapipe, rng)
