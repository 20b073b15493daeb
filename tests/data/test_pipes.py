"""Pipelines of data: chaining, resetting, lengths."""

import pytest

import pellucid as torch
from pellucid.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe
from pellucid.utils.data.datapipes.iter import Collator, IterableWrapper
from pellucid.utils.data.datapipes.map import SequenceWrapper

# that functions in a test cannot be pickled is no news
pytestmark = pytest.mark.filterwarnings("ignore:(Local|Lambda) function is not supported")


def test_chains():
    pipe = IterableWrapper(range(7)).filter(lambda x: x != 3).map(lambda x: x * 10)
    assert list(pipe.batch(4)) == [[0, 10, 20, 40], [50, 60]] and list(
        pipe.batch(4, drop_last=True)
    ) == [[0, 10, 20, 40]]
    assert list(pipe.batch(2).batch(2).unbatch(-1)) == list(pipe)
    assert list(IterableWrapper([1]).concat(IterableWrapper([2, 3]))) == [1, 2, 3]
    assert list(IterableWrapper("ab").zip(IterableWrapper([1, 2, 3]))) == [("a", 1), ("b", 2)]
    assert list(IterableWrapper([(1, 2)]).map(lambda x: -x, input_col=1)) == [(1, -2)]
    assert torch.equal(
        next(iter(IterableWrapper(range(4)).batch(2).collate())), torch.tensor([0, 1])
    )
    assert Collator(IterableWrapper([[1.0, 2.0]])).__len__() == 1


def test_lengths():
    pipe = IterableWrapper(range(5))
    assert (
        len(pipe),
        len(pipe.batch(2)),
        len(pipe.map(str)),
        len(pipe.zip(IterableWrapper([1]))),
    ) == (5, 3, 5, 1)
    with pytest.raises(TypeError, match="has no len"):
        len(pipe.filter(bool))
    with pytest.raises(TypeError, match="doesn't have valid length"):
        len(pipe.filter(bool).map(str))


def test_orders_are_those_of_pytorch():
    pipe = IterableWrapper(range(5))
    torch.manual_seed(0)
    assert list(pipe.shuffle().set_seed(3)) == [1, 2, 3, 4, 0]
    assert list(pipe.shuffle()) == [1, 3, 0, 2, 4] and list(pipe.shuffle(buffer_size=2)) == [
        0,
        2,
        1,
        4,
        3,
    ]
    assert list(pipe.shuffle().set_shuffle(False)) == [0, 1, 2, 3, 4]


def test_an_older_iterator_is_invalid():
    pipe = IterableWrapper(range(5))
    first = iter(pipe)
    assert next(first) == 0
    assert next(iter(pipe)) == 0
    with pytest.raises(
        RuntimeError,
        match=r"invalidated .* IterableWrapperIterDataPipe\(deepcopy=True, iterable=range\(0, 5\)\)",
    ):
        next(first)


def test_own_pipes_and_methods():
    @functional_datapipe("thrice")
    class Thrice(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for x in self.source:
                yield from (x, x, x)

    assert list(IterableWrapper([1]).thrice()) == [1, 1, 1]
    with pytest.raises(Exception, match="thrice as it is already taken"):
        functional_datapipe("thrice")(Thrice)
    with pytest.raises(TypeError, match="can only decorate"):
        functional_datapipe("x")(int)
    with pytest.raises(
        AttributeError, match="'IterableWrapperIterDataPipe' object has no attribute 'nothing"
    ):
        IterableWrapper([1]).nothing


def test_by_key():
    pipe = SequenceWrapper([3, 4, 5])
    assert (
        isinstance(pipe, MapDataPipe)
        and pipe.map(str)[1] == "4"
        and list(pipe.batch(2)) == [[3, 4], [5]]
    )
    assert len(pipe.concat(pipe)) == 6 and pipe.concat(pipe)[4] == 4 and pipe.zip(pipe)[0] == (3, 3)
    with pytest.raises(IndexError, match="out of range"):
        pipe.concat(pipe)[6]


def test_loader_and_shards():
    pipe = IterableWrapper(range(6)).sharding_filter()
    assert [b.tolist() for b in DataLoader(pipe, batch_size=4)] == [[0, 1, 2, 3], [4, 5]]
    pipe.apply_sharding(2, 1)
    assert list(pipe) == [1, 3, 5] and len(pipe) == 3
    with pytest.raises(ValueError, match="should be smaller"):
        pipe.apply_sharding(2, 2)
