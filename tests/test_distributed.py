"""torch.distributed of one process: what scripts ask before they use it, and refusals of the rest."""

import pytest

import pellucid as torch
import pellucid.distributed as dist
from pellucid.nn.parallel import DistributedDataParallel, data_parallel
from pellucid.nn.parallel.data_parallel import DataParallel


def test_scripts_for_many_processes_run_as_one():
    assert not dist.is_available() and not dist.is_initialized() and not dist.is_torchelastic_launched()
    assert torch.distributed is dist and dist.ReduceOp.SUM is not dist.ReduceOp.MAX and dist.Backend.NCCL == "nccl"


@pytest.mark.parametrize("name", ["get_rank", "get_world_size", "barrier", "all_reduce", "broadcast"])
def test_without_a_group(name):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        getattr(dist, name)()


def test_starting_a_group_is_refused():
    with pytest.raises(NotImplementedError, match="init_process_group"):
        dist.init_process_group("gloo", rank=0, world_size=1)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedDataParallel(torch.nn.Linear(1, 1))


def test_data_parallel():
    layer = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)
    assert torch.equal(data_parallel(layer, x), layer(x)) and torch.equal(DataParallel(layer)(x), layer(x))
