"""Tensors between processes: shared where nobody else knows their memory, copied otherwise; errors
come home.
"""

import subprocess
import sys
import weakref
from multiprocessing.reduction import ForkingPickler

import pytest

import pellucid as torch
from pellucid import multiprocessing as mp
from pellucid.multiprocessing.reductions import StorageWeakRef

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="memory is shared by file descriptors"
)


def add_one(index, shared, plain):
    shared.data[index] += 1
    plain.data[index] += 1


def fail(index):
    if index == 1:
        raise ValueError("boom")


def leave(index):
    sys.exit(3)


def forward(index, queue, back):
    tensor = queue.get()
    tensor += 5
    back.put((tensor.is_shared(), tensor.requires_grad, tensor.sum().item()))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_shared_memory_is_seen_by_both(method):
    shared, plain = torch.zeros(2).share_memory_(), torch.zeros(2)
    mp.start_processes(add_one, (shared, plain), nprocs=2, start_method=method)
    # what a fresh process is given is sent, a forked one has its copy already
    sent = [1, 1] if method == "spawn" else [0, 0]
    assert shared.tolist() == [1, 1] and plain.tolist() == sent


def test_memory_that_somebody_else_knows_is_not_moved():
    reduced = ForkingPickler.dumps
    for known in (lambda x: x.numpy(), lambda x: x.data, lambda x: x[0], lambda x: x.view(4)):
        x = torch.zeros(2, 2)
        other = known(x)
        reduced(x)
        assert not x.is_shared()
        x += 1
        assert float(other.sum()) in (2.0, 4.0)
    x = torch.zeros(2, 2)
    other = weakref.ref(x)
    reduced(x)
    assert x.is_shared() and other() is x
    y = torch.ones(3, requires_grad=True)
    p = torch.nn.Parameter(torch.ones(2, 3).t())
    before = p.tolist()
    reduced([y, p])
    assert y.is_shared() and p.is_shared() and p.tolist() == before and p.stride() == (1, 3)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        reduced(y * 2)


def test_references_to_storages():
    x, y = torch.ones(3), torch.ones(3)
    ref = StorageWeakRef(x.untyped_storage())
    assert ref == StorageWeakRef(x[1:]._typed_storage()) and ref != StorageWeakRef(
        y.untyped_storage()
    )
    assert not ref.expired() and len({ref, StorageWeakRef(x.untyped_storage())}) == 1
    del x
    assert ref.expired()


def test_sharing_keeps_values_and_layout():
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    before = x.clone()
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared() and x[0].is_shared()
    assert x.untyped_storage().is_shared() and not before.untyped_storage().is_shared()
    assert torch.equal(x, before) and x.stride() == before.stride() and x.share_memory_() is x
    assert torch.zeros(0, 3).share_memory_().shape == (0, 3)


def test_modules_share_and_train():
    model = torch.nn.Linear(3, 1).share_memory()
    assert all(
        p.is_shared() and p.requires_grad and isinstance(p, torch.nn.Parameter)
        for p in model.parameters()
    )
    before = model.weight.tolist()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    assert all(p.is_shared() for p in model.parameters()) and model.weight.tolist() != before


def test_views_and_results_are_not_moved():
    x = torch.zeros(4, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"share_memory_\(\) cannot move a view of another tensor"
    ):
        torch.zeros(4)[:2].share_memory_()
    with pytest.raises(RuntimeError, match="cannot move the result of a recorded operation"):
        (x * 2).share_memory_()


def test_an_error_comes_home():
    with pytest.raises(
        mp.ProcessRaisedException,
        match="-- Process 1 terminated with the following error:(.|\n)*ValueError: boom",
    ) as caught:
        mp.spawn(fail, nprocs=2)
    assert caught.value.error_index == 1
    with pytest.raises(
        mp.ProcessExitedException, match="process 0 terminated with exit code 3"
    ) as left:
        mp.spawn(leave)
    assert left.value.exit_code == 3


def test_queues():
    context = mp.get_context("spawn")
    queue, back = context.SimpleQueue(), context.SimpleQueue()
    running = mp.spawn(forward, (queue, back), nprocs=1, join=False)
    assert len(running.pids()) == 1
    tensor = torch.ones(3).share_memory_()
    queue.put(tensor)
    assert back.get() == (True, False, 18.0)
    while not running.join():
        pass
    assert tensor.tolist() == [6, 6, 6]


def test_names_of_python():
    import multiprocessing

    assert mp.Process is multiprocessing.Process and mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    with pytest.raises(AssertionError, match="unknown sharing strategy"):
        mp.set_sharing_strategy("telepathy")
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        mp.absent


def test_memory_closes_at_the_end_of_a_process():
    """The modules of the process may be empty by then."""
    code = (
        "import builtins, pellucid as torch; builtins.kept = torch.ones(3).share_memory_(); "
        "from pellucid.arrays import shared_memory; shared_memory.os = None"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
