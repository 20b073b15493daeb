"""Batches in memory that worker processes and the main process share."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid.data.collate import collate_tensor_fn
from pellucid.data.loading import blocks
from pellucid.data.loading.worker import packed, unpacked
from pellucid.utils.data import DataLoader, Dataset

pytestmark = [
    pytest.mark.skipif(
        sys.platform == "win32", reason="files cannot lose their names while they are mapped"
    ),
    # With one processor; with other threads, from Python 3.12 on.
    pytest.mark.filterwarnings(
        "ignore:This DataLoader will create",
        "ignore:.*multi-threaded, use of fork:DeprecationWarning",
    ),
]
FOLDERS = [
    pytest.param(
        None, marks=pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no memfd")
    ),
    "folder",
]


class Filled(Dataset):
    """40 arrays of 24 KB, each filled with its number."""

    def __len__(self):
        return 40

    def __getitem__(self, i):
        return torch.full((6, 1024), float(i)), i


def numbers(batch):
    return batch[0].numpy()[:, 0, 0].tolist()


@pytest.fixture(params=FOLDERS)
def pool(request, tmp_path):
    return blocks.Pool(None if request.param is None else str(tmp_path))


# ---- pool and leases, both ends in one process -------------------------------------------------
def test_an_array_on_a_block_is_not_copied(pool, tmp_path):
    array = pool.new_array((4, 5000), np.float32)
    array[...] = np.arange(20000).reshape(4, 5000)
    mapped = blocks.Mapped()
    got = unpacked(packed((7, {"x": torch.from_numpy(array)}), pool), mapped)[1]["x"]
    assert torch.equal(got, torch.arange(20000.0).view(4, 5000))
    array[2, 3] = -1
    assert got[2, 3] == -1
    assert blocks.lease_of(got.numpy()) is not None
    assert not list(tmp_path.iterdir())


def test_views_and_foreign_arrays_arrive(pool):
    mapped = blocks.Mapped()
    array = pool.new_array((100, 200), np.float64)
    array[...] = np.random.default_rng(0).random((100, 200))
    foreign = np.asfortranarray(array)
    value = [
        array.T,
        array[::-2, 3:],
        array[5],
        foreign,
        np.float32(2),
        np.array(["a", None], object),
    ]
    for sent, got in zip(value, unpacked(packed(value, pool), mapped), strict=True):
        assert np.array_equal(sent, got)


def test_blocks_return_when_the_last_array_dies(pool):
    mapped = blocks.Mapped()
    first = unpacked(packed(pool.new_array((10000,), np.float64), pool), mapped)
    view = first[5:].reshape(5, -1)
    del first
    gc.collect()
    assert mapped.take_returned() == []
    other = pool.new_array((10000,), np.float64)
    assert blocks.lease_of(other).block.number == 1  # the first one is lent
    del view, other
    gc.collect()
    returned = mapped.take_returned()
    assert returned == [(0, True)]
    pool.take_back(returned)
    again = pool.new_array((9000,), np.float64)
    assert blocks.lease_of(again).block.number in (0, 1)
    assert len(pool.blocks) == 2


def test_a_block_in_use_is_sent_as_a_copy(pool):
    mapped = blocks.Mapped()
    array = pool.new_array((10000,), np.float64)
    array[...] = 1
    first = unpacked(packed(array, pool), mapped)
    second = unpacked(packed(array, pool), mapped)
    first[...] = 2
    assert (second == 1).all()


def test_blocks_that_a_forked_child_may_see_are_not_used_again(pool):
    mapped = blocks.Mapped()
    got = unpacked(packed(pool.new_array((10000,), np.float64), pool), mapped)
    blocks._count_fork()
    del got
    gc.collect()
    returned = mapped.take_returned()
    assert returned == [(0, False)]
    pool.take_back(returned)
    assert not pool.blocks
    unpacked(packed(pool.new_array((10000,), np.float64), pool), mapped)
    assert list(mapped.blocks) == [1]


def test_few_free_blocks_are_kept(pool):
    arrays = [pool.new_array((5000 * (k + 1) ** 2,), np.float64) for k in range(12)]
    del arrays
    gc.collect()
    pool.take_back([])
    assert len(pool.blocks) == blocks.KEPT and len(pool.dropped) == 12 - blocks.KEPT


def test_a_failed_message_lends_nothing(pool):
    array = pool.new_array((10000,), np.float64)
    with pytest.raises(Exception, match="pickle|local object"):  # as Python's version puts it
        packed([array, lambda: 0], pool)
    assert not pool.blocks[0].lent


def test_without_room_arrays_travel_by_value(pool, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    array = pool.new_array((10000,), np.float64)
    assert blocks.lease_of(array) is None and not pool.blocks
    array[...] = 3
    assert np.array_equal(unpacked(packed(array, pool), blocks.Mapped()), array)


# ---- whole loaders ----------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("named", [False, True])
def test_kept_batches_are_not_overwritten(method, named, monkeypatch, tmp_path):
    if named:
        monkeypatch.delattr(os, "memfd_create", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    loader = DataLoader(
        Filled(),
        batch_size=4,
        num_workers=2,
        multiprocessing_context=method,
        persistent_workers=True,
    )
    kept = []
    for _ in range(2):
        for k, batch in enumerate(loader):
            assert blocks.lease_of(batch[0].numpy()) is not None
            if k % 3 == 0:
                kept.append((k, batch))
            batch[0][1:2] += 0  # writing into a batch is allowed
    for k, batch in kept:
        assert numbers(batch) == [4 * k + i for i in range(4)]
    del loader
    gc.collect()
    for k, batch in kept:  # the workers are gone, their blocks are not
        assert numbers(batch) == [4 * k + i for i in range(4)]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("pellucid")]


def test_a_pass_needs_few_blocks():
    loader = DataLoader(Filled(), batch_size=2, num_workers=1, persistent_workers=True)
    for _ in range(3):
        for _batch in loader:
            pass
    assert len(loader._iterator._workers[0].mapped.blocks) <= 5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("named, late", [(False, False), (True, False), (True, True)])
def test_a_killed_main_process_leaves_nothing(named, late, tmp_path):
    script = textwrap.dedent(f"""
        import os, sys, tempfile
        tempfile.tempdir = {str(tmp_path)!r}
        if {named}:
            del os.memfd_create
        import time
        import pellucid as torch
        from pellucid.data.loading import processes, worker
        from pellucid.utils.data import DataLoader, TensorDataset
        worker.CHECK_SECONDS = 0.2
        loop = worker.worker_loop
        def slow(*args):  # the second worker begins when the main process is gone
            time.sleep(1.0 if {late} and 1 in args[10:11] else 0.0)
            loop(*args)
        processes.worker_loop = slow
        loader = DataLoader(TensorDataset(torch.zeros(64, 20000)), batch_size=4, num_workers=2, multiprocessing_context="fork")
        batches = iter(loader)
        first = next(batches)
        print(*[w.process.pid for w in batches._workers], flush=True)
        sys.stdin.read()
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ,
        text=True,
    ) as process:
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert len(workers) == 2
        assert bool(list(tmp_path.iterdir())) == named
        process.send_signal(signal.SIGKILL)
        process.wait()
        end = time.monotonic() + 60
        while time.monotonic() < end and (
            list(tmp_path.iterdir()) or any(_lives(pid) for pid in workers)
        ):
            time.sleep(0.05)
        assert not list(tmp_path.iterdir())
        assert not any(_lives(pid) for pid in workers)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_that_wait_to_write_end_with_the_main_process():
    """A batch that does not fit into the pipe waits there until the main process reads it."""
    script = textwrap.dedent("""
        import sys, time
        from pellucid.utils.data import DataLoader
        texts = ["x" * 1_000_000] * 8
        loader = DataLoader(texts, batch_size=1, num_workers=2, multiprocessing_context="fork")
        batches = iter(loader)
        next(batches)
        time.sleep(0.5)
        print(*[w.process.pid for w in batches._workers], flush=True)
        sys.stdin.read()
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert len(workers) == 2 and all(_lives(pid) for pid in workers)
        process.kill()
        process.wait()
        end = time.monotonic() + 20
        while time.monotonic() < end and any(_lives(pid) for pid in workers):
            time.sleep(0.05)
        left = [pid for pid in workers if _lives(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert not left


def _lives(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---- putting samples together ------------------------------------------------------------------
def test_samples_of_different_shape_or_dtype_are_refused_or_promoted():
    zeros = torch.zeros
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        collate_tensor_fn([zeros(2, 3), zeros(4, 3)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        collate_tensor_fn([zeros(2, 3), zeros(2, 4)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        collate_tensor_fn([zeros(2), zeros(())])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        collate_tensor_fn([zeros(3, 0), zeros(2, 0)])
    assert collate_tensor_fn([zeros(2), zeros(2, dtype=torch.float64)]).dtype is torch.float64
    assert collate_tensor_fn([torch.tensor(1), torch.tensor(2.5)]).tolist() == [1.0, 2.5]
    assert (
        collate_tensor_fn(
            [torch.tensor(1, dtype=torch.bfloat16), torch.tensor(2, dtype=torch.bfloat16)]
        ).dtype
        is torch.bfloat16
    )
    assert collate_tensor_fn([zeros(3, 0), zeros(3, 0)]).shape == (2, 3, 0)


def test_collated_numbers_and_arrays():
    collate = torch.utils.data.default_collate
    assert collate([True, False]).dtype is torch.bool
    assert collate([1, 2**40]).dtype is torch.int64
    assert collate([1.5, 2]).dtype is torch.float64
    with pytest.raises(ValueError, match="^Overflow when unpacking long long"):
        collate([1, 2**70])
    rows = np.arange(12.0).reshape(3, 4)
    assert torch.equal(collate([rows, rows.T.reshape(3, 4)])[0], torch.from_numpy(rows))
    assert collate([rows.T, rows.T]).shape == (2, 4, 3)
