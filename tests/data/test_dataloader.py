"""The DataLoader with and without worker processes: contents, order, seeds, failures, tidiness."""

import gc
import multiprocessing
import os
import random
import time

import numpy as np
import pytest

import pellucid as torch
from pellucid.data.loading import worker
from pellucid.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    StackDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)

WORKERS = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create", "ignore:.*multi-threaded, use of fork:DeprecationWarning"
)


class Numbers(Dataset):
    """Samples with a large array, which travels by shared memory, and random numbers from every
    stream.
    """

    def __init__(self, size=7):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return {
            "index": index,
            "large": torch.full((100, 100), float(index)),
            "random": (torch.rand(1).item(), float(np.random.rand()), random.random()),
        }


class Shard(IterableDataset):
    """0 to 10, each worker every second."""

    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 11, step))


class Broken(Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 2:
            if self.how == "exit":
                os._exit(3)
            raise self.how(f"sample {index}")
        return index


def shared_files():
    """What the loader has put into shared memory."""
    return (
        {f for f in os.listdir("/dev/shm") if f.startswith("pellucid-")}
        if os.path.isdir("/dev/shm")
        else set()
    )


def contents(loader):
    return [batch["index"].tolist() for batch in loader]


def test_batches_in_order_and_the_short_last_one():
    assert contents(DataLoader(Numbers(), batch_size=3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert contents(DataLoader(Numbers(), batch_size=3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert len(DataLoader(Numbers(), batch_size=3)) == 3


def test_shuffle_is_the_stream_s():
    torch.manual_seed(1)
    first = contents(DataLoader(Numbers(), batch_size=7, shuffle=True))
    torch.manual_seed(1)
    again = contents(DataLoader(Numbers(), batch_size=7, shuffle=True))
    assert first == again
    assert sorted(first[0]) == list(range(7))
    assert first[0] != list(range(7))


@WORKERS
def test_workers_give_the_same_batches_in_order():
    before = shared_files()
    torch.manual_seed(0)
    alone = contents(DataLoader(Numbers(), batch_size=2, shuffle=True))
    torch.manual_seed(0)
    batches = list(DataLoader(Numbers(), batch_size=2, shuffle=True, num_workers=2))
    assert [b["index"].tolist() for b in batches] == alone
    for batch in batches:
        large = batch["large"]
        assert (large[:, 0, 0].tolist()) == batch["index"].tolist()
        large += 1  # what arrives through shared memory can be written
    assert shared_files() == before


@WORKERS
def test_workers_are_seeded_each_in_its_own_way_and_reproducibly():
    def draw():
        torch.manual_seed(3)
        return [
            tuple(round(float(v), 12) for column in b["random"] for v in column)
            for b in DataLoader(Numbers(4), num_workers=2)
        ]

    first = draw()
    assert first == draw()
    assert len({value for row in first for value in row}) == 12


def test_numpy_seed_of_a_worker():
    """The four words that PyTorch computes for base seed 1234567890123 and worker 3."""
    assert worker.numpy_seed(1234567890123, 3).tolist() == [
        911343142,
        720453872,
        3335628216,
        1002736992,
    ]


@WORKERS
@pytest.mark.parametrize("persistent", [False, True])
def test_streams_end_once_and_begin_again(persistent):
    loader = DataLoader(Shard(), batch_size=2, num_workers=2, persistent_workers=persistent)
    expected = [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    assert [b.tolist() for b in loader] == expected
    next(iter(loader))  # a pass that is given up
    assert [b.tolist() for b in loader] == expected


@WORKERS
def test_out_of_order_loses_nothing():
    loader = DataLoader(Shard(), batch_size=2, num_workers=2, in_order=False)
    assert sorted(x for b in loader for x in b.tolist()) == list(range(11))


@WORKERS
@pytest.mark.parametrize("kind", [ValueError, KeyError])
def test_an_exception_comes_with_the_worker_s_traceback(kind):
    with pytest.raises(kind) as caught:
        list(DataLoader(Broken(kind), num_workers=2))
    text = str(caught.value)
    assert text.startswith(
        f"Caught {kind.__name__} in DataLoader worker process 0.\nOriginal Traceback"
    )
    assert "sample 2" in text
    assert "__getitem__" in text


@WORKERS
def test_a_worker_that_dies_is_noticed():
    with pytest.raises(
        RuntimeError,
        match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly with exit code\(s\) 3",
    ):
        list(DataLoader(Broken("exit"), num_workers=2))


class Slow(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        time.sleep(60)


@WORKERS
def test_timeout():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        next(iter(DataLoader(Slow(), num_workers=1, timeout=0.2)))


@WORKERS
def test_giving_up_an_iterator_stops_its_workers():
    before = set(multiprocessing.active_children())
    iterator = iter(DataLoader(Numbers(), num_workers=2))
    next(iterator)
    workers = set(multiprocessing.active_children()) - before
    assert len(workers) == 2
    del iterator
    gc.collect()
    assert not workers & set(multiprocessing.active_children())


@WORKERS
def test_worker_info_and_init_function():
    class Ask(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            info = get_worker_info()
            return info.id, info.num_workers, self.mark

    def mark(number):
        get_worker_info().dataset.mark = 10 + number

    rows = [[int(v) for v in row] for row in DataLoader(Ask(), num_workers=2, worker_init_fn=mark)]
    assert rows == [[0, 2, 10], [1, 2, 11]]
    assert get_worker_info() is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"num_workers": -1},
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        ),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        (
            {"batch_size": None, "drop_last": True},
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
        ),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
    ],
)
def test_arguments_that_exclude_each_other(arguments, text):
    with pytest.raises(ValueError, match="^") as caught:
        DataLoader(Numbers(), **arguments)
    assert str(caught.value).split("\n")[0] == text


def test_collate():
    batch = default_collate(
        [
            {"a": 1, "b": [torch.ones(2), "x"], "c": np.float32(2)},
            {"a": 2, "b": [torch.zeros(2), "y"], "c": np.float32(3)},
        ]
    )
    assert batch["a"].tolist() == [1, 2]
    assert batch["b"][0].shape == (2, 2)
    assert batch["b"][1] == ("x", "y")
    assert batch["c"].tolist() == [2, 3]
    with pytest.raises(
        TypeError,
        match="default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found",
    ):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1], [1, 2]])


def test_datasets():
    numbers = TensorDataset(torch.arange(4), torch.arange(4) * 10)
    assert [x.item() for x in numbers[2]] == [2, 20]
    joined = ConcatDataset([range(3), range(10, 12)])
    assert [joined[i] for i in range(len(joined))] == [0, 1, 2, 10, 11]
    assert joined[-1] == 11
    assert StackDataset(a=range(3), b="xyz")[1] == {"a": 1, "b": "y"}
    assert Subset(range(10), [3, 5]).__getitems__([1, 0]) == [5, 3]
    assert list(ChainDataset([Shard(), Shard()])) == [*range(11)] * 2
    assert [len(part) for part in random_split(range(10), [0.5, 0.25, 0.25])] == [6, 2, 2]
    with pytest.raises(
        ValueError, match="Sum of input lengths does not equal the length of the input dataset!"
    ):
        random_split(range(10), [3, 3])


def test_samplers():
    assert list(BatchSampler(SequentialSampler(range(5)), 2, drop_last=True)) == [[0, 1], [2, 3]]
    torch.manual_seed(0)
    assert set(WeightedRandomSampler([0.0, 1.0, 1.0], 20)) == {1, 2}


def test_a_pass_over_an_object_that_looks_like_a_loader():
    """fastai's loader hands itself to the iterators of PyTorch's loader."""
    from pellucid.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        _IterableDataset_len_called, _auto_collation, drop_last, _index_sampler = (
            None,
            False,
            False,
            range(99),
        )
        generator, num_workers, timeout, _dataset_kind = None, 0, 0, _DatasetKind.Iterable

        def __init__(self):
            self.dataset = self

        def collate_fn(self, batch):
            return batch

        def __iter__(self):
            return iter(["first", "second"])

    assert list(_SingleProcessDataLoaderIter(Loader())) == ["first", "second"]
    assert (_DatasetKind.Map, _DatasetKind.Iterable) == (0, 1)


def test_tensors_of_unequal_length_are_told_by_their_sizes():
    with pytest.raises(AssertionError, match="^Size mismatch between tensors") as caught:
        TensorDataset(torch.zeros(4, 3), torch.zeros(5))
    assert "4 and 5" in caught.value.__notes__[0]


def test_a_tensor_beside_a_number_is_refused_as_by_stack():
    with pytest.raises(TypeError, match="^expected Tensor as element 1 in argument 0, but got int"):
        torch.utils.data.default_collate([torch.ones(2), 1])


def test_persistent_workers_are_stopped_on_request():
    loader = DataLoader(list(range(4)), batch_size=2, num_workers=2, persistent_workers=True)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
    workers = [worker.process for worker in loader._iterator._workers]
    assert all(worker.is_alive() for worker in workers)
    loader._iterator._shutdown_workers()
    assert not any(worker.is_alive() for worker in workers)
    loader._iterator._shutdown_workers()
