"""Distributed tensors and modules, checkpoints, optimizers with cut state: programs of several
ranks, with assertions inside.
"""

import pytest

from .harness import RANKS, THOROUGH, launch, needs_mpi

pytestmark = pytest.mark.ranks

PROGRAMS = [
    "sharded_tensors.py",
    "sharded_modules.py",
    "sharded_hard.py",
    "sharded_anything.py",
    "sharded_views.py",
]


@needs_mpi
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("size", RANKS)
def test_programs(program, size, tmp_path):
    for text in launch(program, size, folder=tmp_path, timeout=400):
        assert "all well" in text


@needs_mpi
@pytest.mark.parametrize("size", [2, 4] if THOROUGH else [2])
def test_tensor_parallel_inside_fully_sharded(size, tmp_path):
    for text in launch("sharded_both.py", size, tmp_path / "files", folder=tmp_path, timeout=400):
        assert "all well" in text


@needs_mpi
def test_files_are_read_by_other_numbers_of_ranks(tmp_path):
    for size, what in [(2, "write"), *[(n, "read") for n in ([1, 3, 4] if THOROUGH else [1])]]:
        for text in launch(
            "sharded_files.py", size, what, tmp_path / "files", folder=tmp_path, timeout=400
        ):
            assert "all well" in text
