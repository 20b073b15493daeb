"""Collectives between processes: values, gradients, groups, arguments, objects."""

import re

import pytest

from .harness import RANKS, THOROUGH, launch, needs_mpi

pytestmark = needs_mpi


@pytest.mark.parametrize("size", RANKS)
def test_every_collective_dtype_and_layout(size, tmp_path):
    """In `make test` a quarter: every dtype with one layout or two."""
    part = () if THOROUGH else ("quick",)
    for rank, text in enumerate(
        launch("every_collective.py", size, *part, folder=tmp_path, timeout=300)
    ):
        assert int(re.search(rf"rank {rank}: (\d+) results", text)[1]) > (3000 if THOROUGH else 750)


@pytest.mark.parametrize("size", RANKS)
def test_gradients(size, tmp_path):
    assert all("10 gradients" in text for text in launch("gradients.py", size, folder=tmp_path))


@pytest.mark.parametrize("size", RANKS)
def test_groups_objects_and_refusals(size, tmp_path):
    assert all(
        f"of {size}: all well" in text for text in launch("groups.py", size, folder=tmp_path)
    )
