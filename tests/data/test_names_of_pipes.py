"""Where libraries look for pipes and for what loaders are made of."""

from importlib import import_module

import pytest

import pellucid as torch
from pellucid.data.pipes import common as pipes


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("combinatorics", "ShufflerIterDataPipe"), ("combining", "ConcaterIterDataPipe"), ("grouping", "BatcherIterDataPipe"),
        ("callable", "MapperIterDataPipe"), ("selecting", "FilterIterDataPipe"), ("utils", "IterableWrapperIterDataPipe"),
    ],
)  # fmt: skip
def test_pipes_stand_in_modules_of_their_kind(module, name):
    assert getattr(import_module(f"pellucid.utils.data.datapipes.iter.{module}"), name) is getattr(
        pipes, name
    )
    assert torch.utils.data.datapipes.iter.Shuffler is pipes.ShufflerIterDataPipe
