"""Settings for all pipes of a pipeline, and how a DataLoader makes them."""

import pytest

import pellucid as torch
from pellucid.utils.data import DataLoader, IterDataPipe, graph, graph_settings
from pellucid.utils.data.datapipes.iter import IterableWrapper
from pellucid.utils.data.datapipes.map import SequenceWrapper


def test_each_sample_comes_once_from_several_workers():
    pipe = IterableWrapper(range(10)).shuffle().sharding_filter()
    torch.manual_seed(0)
    loader = DataLoader(pipe, batch_size=None, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    torch.manual_seed(0)
    assert list(DataLoader(pipe, batch_size=None)) == first  # the pass of one process


def test_the_loader_switches_shuffling():
    pipe = IterableWrapper(range(6)).shuffle().map(abs)
    assert list(DataLoader(pipe, batch_size=None, shuffle=False)) == list(range(6))
    torch.manual_seed(1)
    assert list(DataLoader(pipe, batch_size=None, shuffle=True)) != list(range(6))
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = DataLoader(IterableWrapper(range(3)), batch_size=None, shuffle=True)
    assert list(loader) == [0, 1, 2]  # as PyTorch's does


def test_seeds_are_drawn_for_each_random_pipe():
    pipe = IterableWrapper(range(5)).shuffle().zip(SequenceWrapper("abcde").shuffle())
    orders = []
    for _ in range(2):
        graph_settings.apply_random_seed(pipe, torch.Generator().manual_seed(4))
        orders.append(list(pipe))
    assert orders[0] == orders[1]


def test_the_hooks_are_gone_after_an_error():
    class Unreadable(IterDataPipe):
        def __getstate__(self):
            raise ValueError("no state")

    with pytest.raises(ValueError, match="no state"):
        graph.traverse_dps(Unreadable())
    assert IterDataPipe.getstate_hook is IterDataPipe.reduce_ex_hook is None
    IterDataPipe.set_getstate_hook(lambda state: state)
    try:
        with pytest.raises(RuntimeError, match="Attempt to override existing getstate_hook"):
            graph.traverse_dps(Unreadable())
    finally:
        IterDataPipe.set_getstate_hook(None)


def test_two_shares_in_one_branch_are_refused():
    pipe = IterableWrapper(range(5)).sharding_filter().sharding_filter()
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        next(iter(DataLoader(pipe)))
