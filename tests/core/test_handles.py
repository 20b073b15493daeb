"""Handles of hooks: they pickle, and take the hook out of every table it stands in."""

import gc
import pickle
from collections import OrderedDict

import pellucid as torch
from pellucid.utils.hooks import RemovableHandle


def test_a_handle_takes_its_number_out_of_every_table():
    hooks, marks, more = OrderedDict(), OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=[marks, more])
    other = RemovableHandle(hooks, extra_dict=marks)
    for table in (hooks, marks, more):
        table[handle.id] = table[other.id] = True
    handle.remove()
    handle.remove()
    assert list(hooks) == list(marks) == [other.id] and other.id > handle.id
    del hooks, marks, more
    gc.collect()
    other.remove()
    assert other.hooks_dict_ref() is None


def test_a_pickled_handle_keeps_its_number_and_its_table():
    hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    hooks[handle.id] = "hook"
    table, again = pickle.loads(pickle.dumps((hooks, handle)))
    assert again.id == handle.id and again.hooks_dict_ref() is table
    again.remove()
    assert not table and hooks
    later = RemovableHandle(OrderedDict())
    assert later.id > again.id
    alone = pickle.loads(pickle.dumps(RemovableHandle(OrderedDict())))
    alone.remove()


def test_lazy_modules_pickle_with_their_hooks():
    layer = pickle.loads(pickle.dumps(torch.nn.LazyLinear(3)))
    assert layer(torch.ones(2, 5)).shape == (2, 3)
    assert type(layer) is torch.nn.Linear
