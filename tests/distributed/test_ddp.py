"""DistributedDataParallel between processes: losses, replicas, unused parameters, uneven inputs."""

import pytest

from .harness import RANKS, launch, needs_mpi

pytestmark = [needs_mpi, pytest.mark.ranks]


@pytest.mark.parametrize("size", RANKS)
def test_modes(size, tmp_path):
    assert launch("ddp.py", size, folder=tmp_path, timeout=600)[0].endswith("all well\n")
