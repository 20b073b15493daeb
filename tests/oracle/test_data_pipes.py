"""Data pipes in a DataLoader: the same samples in the same order as PyTorch, and the same random
streams afterwards.
"""

import importlib
import itertools
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:(Lambda|Local) function:UserWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
LIBRARIES = (torch, pellucid)


def part_of(library: Any, name: str) -> Any:
    return importlib.import_module(f"{library.__name__}.utils.data.{name}")


def pipeline(library: Any, kind: str) -> Any:
    pipes = part_of(library, "datapipes.iter")
    source = pipes.IterableWrapper(list(range(11)))
    if kind == "none":
        return source
    if kind == "shuffle":
        return source.shuffle()
    if kind == "shard":
        return source.sharding_filter()
    if kind == "shuffle-shard":
        return source.shuffle().sharding_filter()
    if kind == "shard-shuffle":
        return source.sharding_filter().shuffle(buffer_size=3)
    if kind == "shuffle-twice":
        return source.shuffle().map(abs).sharding_filter().shuffle()
    if kind == "zip":
        other = pipes.IterableWrapper(list(range(20, 31))).shuffle().sharding_filter()
        return source.shuffle().sharding_filter().zip(other)
    if kind == "fork":
        one, two = source.shuffle().fork(2)
        return one.map(abs).concat(two.map(float)).sharding_filter()
    if kind == "demux":
        even, odd = source.shuffle().demux(2, lambda x: x % 2)
        return even.mux(odd).sharding_filter()
    maps = part_of(library, "datapipes.map")
    if kind == "map":
        return maps.SequenceWrapper(list(range(11))).map(abs)
    return maps.SequenceWrapper(list(range(11))).shuffle().sharding_filter()


KINDS = [
    "none", "shuffle", "shard", "shuffle-shard", "shard-shuffle", "shuffle-twice", "zip", "fork",
    "demux", "map", "map-shuffle",
]  # fmt: skip


def passes(library: Any, kind: str, workers: int, shuffle: Any, keep: bool, own: bool) -> Any:
    """The batches of three passes, the last one given up, and the states of the generators."""
    library.manual_seed(5)
    generator = library.Generator().manual_seed(9) if own else None
    loader = part_of(library, "dataloader").DataLoader(
        pipeline(library, kind),
        batch_size=3,
        shuffle=shuffle,
        num_workers=workers,
        persistent_workers=keep,
        generator=generator,
    )
    seen = []
    for _ in range(2):
        seen.append([repr(batch) for batch in loader])
        seen.append(library.rand(1).item())
    given_up = iter(loader)
    seen.append(repr(next(given_up)))
    seen.append([repr(batch) for batch in loader])
    del given_up
    seen.append(library.rand(1).item())
    if generator is not None:
        seen.append(library.rand(1, generator=generator).item())
    return seen


CASES = [(kind, workers) for kind in KINDS for workers in (0, 3)]
CASES += [(kind, workers) for kind in ("shuffle-shard", "map-shuffle") for workers in (1, 2)]


@pytest.mark.parametrize("kind, workers", CASES)
def test_samples_and_streams_are_those_of_pytorch(kind, workers):
    for shuffle, keep in itertools.product((None, False, True), {False, workers > 0}):
        own = shuffle is None
        results = []
        for library in LIBRARIES:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                results.append([passes(library, kind, workers, shuffle, keep, own)])
            results[-1].append(sum("does not contain a `Shuffler`" in str(w.message) for w in told))
        assert results[0] == results[1], (kind, workers, shuffle, keep)


def tree(graph: Any) -> Any:
    return [(type(pipe).__name__, tree(below)) for pipe, below in graph.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_graphs(kind):
    found = []
    for library in LIBRARIES:
        graphs, settings = part_of(library, "graph"), part_of(library, "graph_settings")
        graph = graphs.traverse_dps(pipeline(library, kind))
        found.append(
            (tree(graph), [type(pipe).__name__ for pipe in settings.get_all_graph_pipes(graph)])
        )
    assert found[0] == found[1]


def odd_pipes(library: Any) -> list[Any]:
    """Pipes whose sources are in odd places, by name."""
    data = part_of(library, "datapipes.datapipe")
    pipes = part_of(library, "datapipes.iter")

    class Holder(data.IterDataPipe):
        def __init__(self, **attributes: Any) -> None:
            vars(self).update(attributes)

        def __iter__(self) -> Any:
            yield from ()

    class Hooked(Holder):
        def __getstate__(self) -> Any:
            state = (self.a, self.b)
            hook = data.IterDataPipe.getstate_hook
            return state if hook is None else hook(state)

    class Whole(Holder):
        def __getstate__(self) -> Any:
            return vars(self)

    def leaf() -> Any:
        return pipes.IterableWrapper([1])

    shared = leaf()
    ring = Holder(a=leaf())
    ring.next = Holder(before=ring, b=leaf().map(abs))
    return [
        Holder(a=leaf(), b=leaf().map(abs)),
        Holder(a=[leaf(), [leaf()], (leaf().shuffle(),)], b={"x": leaf(), 3: {"y": leaf()}}),
        Holder(a=shared, b=shared.map(abs), c=[shared]),
        Holder(a=lambda: 1, b=leaf(), c=object(), d=3),
        Holder(a=iter([1]), text="abc"),
        Hooked(a=leaf(), b=3),
        Whole(a=leaf(), b=[leaf()]),
        ring,
    ]


@pytest.mark.parametrize("case", range(8))
def test_graphs_of_pipes_in_odd_places(case):
    found = []
    for library in LIBRARIES:
        graphs = part_of(library, "graph")
        try:
            found.append(tree(graphs.traverse_dps(odd_pipes(library)[case])))
        except Exception as error:
            found.append((type(error), str(error).replace(library.__name__, "")))
    assert found[0] == found[1]


def attempts(library: Any) -> list[Any]:
    pipes, maps = part_of(library, "datapipes.iter"), part_of(library, "datapipes.map")
    graphs, settings = part_of(library, "graph"), part_of(library, "graph_settings")
    data = part_of(library, "datapipes.datapipe")
    levels = part_of(library, "datapipes.iter.sharding").SHARDING_PRIORITIES

    def leaf(n: int = 4) -> Any:
        return pipes.IterableWrapper(list(range(n)))

    def refuse(x: Any) -> Any:
        raise ValueError("no", 3)

    def two_levels(first: Any, second: Any, only: Any = None) -> Any:
        pipe = pipes.ShardingFilter(leaf(13), only)
        settings.apply_sharding(pipe, 2, 1, first)
        settings.apply_sharding(pipe, 3, 2, second)
        return list(pipe), len(pipe)

    class Old(data.IterDataPipe):
        def __iter__(self) -> Any:
            return iter([1, 2])

        def apply_sharding(self, a: int, b: int) -> None:
            self.got = (a, b)

    def old() -> Any:
        return settings.apply_sharding(Old(), 3, 1).got

    def both() -> Any:
        pipe = leaf()
        first, second = iter(pipe), iter(pipe)
        return [next(second), next(first), next(second)]

    def both_at_once() -> Any:
        pipe = Old()
        first, second = iter(pipe), iter(pipe)
        return [next(second), next(first)]

    def late_seed() -> Any:
        library.manual_seed(0)
        it = iter(leaf().shuffle())
        return library.rand(1).item(), list(it), library.rand(1).item()

    def parts(how: str) -> Any:
        source = leaf(6)
        one, two = source.fork(2) if how == "fork" else source.demux(2, lambda x: x % 2)
        first, second = iter(one), iter(two)
        got = [next(first), next(first), next(second)]
        again = iter(one)
        got += [next(again), list(two)]
        try:
            next(first)
        except RuntimeError as error:
            got.append(str(error))
        return [*got, list(one), list(two)]

    return [
        lambda: list(leaf().map(refuse).batch(2)),
        lambda: list(leaf().map(lambda x: 1 / 0).shuffle()),
        lambda: list(leaf().filter(lambda x: 3)),
        lambda: list(leaf().unbatch(2)),
        lambda: leaf().shuffle(buffer_size=0),
        lambda: settings.apply_sharding(leaf().sharding_filter().map(abs).sharding_filter(), 2, 0),
        lambda: settings.apply_sharding(leaf().sharding_filter(), 2, 2),
        lambda: two_levels(levels.DISTRIBUTED, levels.MULTIPROCESSING),
        lambda: two_levels(levels.MULTIPROCESSING, levels.DISTRIBUTED),
        lambda: two_levels(levels.MULTIPROCESSING, levels.DISTRIBUTED, levels.DISTRIBUTED),
        lambda: two_levels(levels.DEFAULT, levels.DISTRIBUTED),
        lambda: two_levels(levels.DISTRIBUTED, levels.DEFAULT),
        old,
        both,
        both_at_once,
        late_seed,
        lambda: parts("fork"),
        lambda: parts("demux"),
        lambda: graphs.traverse_dps(3),
        lambda: tree(graphs.traverse(leaf().map(abs))),
        lambda: tree(graphs.traverse(leaf().map(lambda x: x), True)),
        lambda: settings.apply_shuffle_settings(leaf(), True),
        lambda: list(settings.apply_shuffle_settings(leaf().shuffle().map(abs), False)),
        lambda: list(settings.apply_shuffle_seed(leaf().shuffle(), library.Generator().manual_seed(3))),
        lambda: list(maps.SequenceWrapper("abcde").shuffle(indices=[3, 1, 0]).set_seed(2)),
        lambda: list(maps.SequenceWrapper("abcde").shuffle().set_shuffle(False)),
        lambda: data.IterDataPipe.set_getstate_hook(None),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(27))
def test_results_and_errors(case):
    found = []
    for library in LIBRARIES:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                result: Any = repr(attempts(library)[case]())
            except Exception as error:
                result = (type(error), error.args)
        texts = [(w.category, str(w.message)) for w in told if "pickle" not in str(w.message)]
        found.append((result, texts))
    assert found[0] == found[1]


def test_samplers_that_draw_when_asked_for_an_iterator():
    """PyTorch asks twice for it when there are workers."""

    def seen(library: Any, workers: int) -> Any:
        class Drawn:
            def __iter__(self) -> Any:
                return iter(library.randperm(4).tolist())

        library.manual_seed(3)
        loader = part_of(library, "dataloader").DataLoader(
            list(range(4)), batch_size=None, sampler=Drawn(), num_workers=workers
        )
        return [list(loader), list(loader), library.rand(1).item()]

    for workers in (0, 1):
        assert seen(torch, workers) == seen(pellucid, workers)
