"""Compiled steps of several ranks."""

import pytest

from .harness import RANKS, collect, launch, needs_mpi, start

pytestmark = [needs_mpi, pytest.mark.ranks]


@pytest.mark.parametrize("size", RANKS)
def test_compiled_steps(size, tmp_path):
    assert launch("compiled.py", size, folder=tmp_path, timeout=600)[0].endswith("all well\n")


def test_a_rank_that_traces_differently_is_named(tmp_path):
    results = collect(start("compiled.py", 2, "differs", folder=tmp_path), 60)
    for result in results:
        assert result.code == 1 and "Detected mismatch between collectives" in result.text, (
            result.text
        )
        assert (
            "rank 0: all_reduce(" in result.text
            and "rank 1: all_reduce(" in result.text
            and "compiled.py:" in result.text
        )
