"""Groups, objects, works, refusals, and a second world after the first."""

import datetime
import os
import sys
import threading
import warnings

import pellucid as torch
import pellucid.distributed as dist


def refused(kind, text, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        assert type(error) is kind and text in str(error), (type(error), str(error), text)
    else:
        raise AssertionError(f"nothing was refused: {text}")


def groups(rank, size):
    assert (
        dist.get_backend() == "gloo"
        and dist.group.WORLD.size() == size == dist.GroupMember.WORLD.size()
    )
    assert dist.get_process_group_ranks(None) == list(range(size)) and dist.get_pg_count() == 1
    backwards = dist.new_group(list(range(size))[::-1], sort_ranks=False)
    assert (
        dist.get_rank(backwards) == size - 1 - rank
        and dist.get_global_rank(backwards, 0) == size - 1
    )
    x = torch.tensor([rank])
    dist.broadcast(x, group_src=0, group=backwards)
    assert x.item() == size - 1
    first = dist.new_group([0])
    if rank == 0:
        dist.all_reduce(x, group=first)
        assert (
            x.item() == size - 1
            and dist.get_world_size(first) == 1
            and dist.get_group_rank(first, 0) == 0
        )
        refused(ValueError, "Global rank 1 is not part of group", dist.get_group_rank, first, 1)
        refused(ValueError, "Group rank 4 is not part of group", dist.get_global_rank, first, 4)
    else:
        assert first == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(
            first
        ) == -1 == dist.get_world_size(first)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert dist.all_reduce(x, group=first) is None and len(caught) == 1
    mine, every = dist.new_subgroups(1)
    assert len(every) == size and mine.ranks == [rank]
    ours = dist.new_group([0, 1], use_local_synchronization=True) if rank < 2 else None
    if ours is not None:  # only its two ranks have called this
        y = torch.full((2,), float(rank))
        dist.all_reduce(y, group=ours)
        assert y.tolist() == [1.0, 1.0] and ours.group_name == "0_1:1"
    refused(ValueError, f"Rank {size} is out of range", dist.new_group, [0, size])
    refused(
        ValueError,
        "Rank 0 has appeared in both subgroup",
        dist.new_subgroups_by_enumeration,
        [[0], [0]],
    )
    dist.destroy_process_group(backwards)
    refused(ValueError, "Invalid process group specified", dist.get_rank, backwards)


def objects(rank, size):
    everything = [None] * size
    dist.all_gather_object(everything, {"rank": rank, "text": "x" * (100 * rank)})
    assert [o["rank"] for o in everything] == list(range(size)) and len(
        everything[-1]["text"]
    ) == 100 * (size - 1)
    got = [None] * size if rank == 1 else None
    dist.gather_object((rank, [1, 2]), got, dst=1)
    assert rank != 1 or got == [(r, [1, 2]) for r in range(size)]
    shared = ["a", {2: 3}, torch.arange(3)] if rank == 0 else [None] * 3
    dist.broadcast_object_list(shared)
    assert shared[1] == {2: 3} and shared[2].tolist() == [0, 1, 2]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None)
    assert mine == [f"for {rank}"]
    if rank == 0:
        dist.send_object_list(["x", 2], 1)
    elif rank == 1:
        got = [None, None]
        assert dist.recv_object_list(got, 0) == 0 and got == ["x", 2]


def works(rank, size):
    x = torch.ones(4)
    work = dist.all_reduce(x, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert doubled.wait().tolist() == [2.0 * size] * 4 and work.result()[0] is x
    many = [torch.full((3,), float(k)) for k in range(50)]
    for w in [dist.all_reduce(t, async_op=True) for t in many][::-1]:
        w.wait()
    assert all(t.tolist() == [k * size] * 3 for k, t in enumerate(many))
    forgotten = torch.ones(2)
    dist.all_reduce(forgotten, async_op=True)
    dist.barrier()
    assert forgotten.tolist() == [size] * 2
    # Threads: each has a group of its own, whose collectives overlap in time with the others'.
    own = [dist.new_group() for _ in range(3)]
    found = {}

    def loop(k):
        total = torch.zeros(1)
        for i in range(20):
            t = torch.tensor([float(i + k)])
            dist.all_reduce(t, group=own[k])
            total += t
        found[k] = total.item()

    threads = [threading.Thread(target=loop, args=(k,)) for k in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert found == {k: size * sum(i + k for i in range(20)) for k in range(3)}


def refusals(rank, size):
    two = torch.ones(2)
    refused(
        ValueError,
        "trying to initialize the default process group twice!",
        dist.init_process_group,
        "gloo",
    )
    refused(TypeError, "Expected parameter `tensor` of type torch.Tensor", dist.all_reduce, 3)
    refused(
        RuntimeError,
        "Cannot use ReduceOp.BAND with non-integral dtype",
        dist.all_reduce,
        two,
        dist.ReduceOp.BAND,
    )
    complex_pair = torch.ones(2, dtype=torch.complex64)
    refused(
        ValueError,
        "all_reduce does not support RedOpType.MAX on complex tensors",
        dist.all_reduce,
        complex_pair,
        dist.ReduceOp.MAX,
    )
    for call in (dist.broadcast, dist.reduce, dist.broadcast_object_list):
        name = call.__name__.partition("_")[0]
        refused(
            RuntimeError,
            f"ProcessGroupGloo::{name}: invalid root rank: {size}",
            call,
            two if call is not dist.broadcast_object_list else [1],
            size,
        )
    refused(
        RuntimeError, "reduce does not support", dist.reduce, complex_pair, 0, dist.ReduceOp.MAX
    )
    refused(RuntimeError, f"expected length {size}, got 0", dist.all_gather, [], two)
    refused(
        ValueError,
        "Invalid usage of tensors with different dtypes",
        dist.all_gather,
        [two.double()] * size,
        two,
    )
    refused(
        RuntimeError,
        "invalid tensor size at index 0 (expected (2), got (3))",
        dist.all_gather,
        [torch.ones(3)] * size,
        two,
    )
    refused(
        RuntimeError,
        "ProcessGroupGloo::allgather: invalid tensor size at index",
        dist.all_gather_into_tensor,
        torch.ones(2 * size + 1),
        two,
    )
    refused(
        RuntimeError,
        "Tensor's dim 0 does not divide equally",
        dist.all_to_all_single,
        torch.ones(2 * size + 1),
        torch.ones(2 * size + 1),
    )
    refused(
        RuntimeError,
        "Split sizes doesn't match total dim 0 size",
        dist.all_to_all_single,
        two,
        two,
        [1] * size,
        [3] * size,
    )
    refused(
        ValueError,
        "should not be the same as the rank of the current process",
        dist.send,
        two,
        rank,
    )
    refused(ValueError, f"Global rank {size} is not part of group", dist.send, two, size)
    refused(ValueError, "Invalid ``op``", dist.P2POp, print, two, 0)
    refused(
        NotImplementedError,
        "tensors on meta are not supported",
        dist.all_reduce,
        torch.ones(2, device="meta"),
    )
    if rank == 0:
        refused(
            ValueError,
            "Argument ``gather_list`` must be specified on destination rank.",
            dist.gather,
            two,
        )
    else:
        refused(
            ValueError,
            "Argument ``scatter_list`` must NOT be specified on non-source ranks.",
            dist.scatter,
            two,
            [two] * size,
        )
    # Sizes that the ranks could not know of each other: all of them hear of it, and the group goes
    # on.
    if rank == 0:
        dist.send(torch.ones(3), 1)
    elif rank == 1:
        refused(RuntimeError, "from rank 0, which sent 12 bytes", dist.recv, two, 0)
    try:
        if rank == 0:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.3), wait_all_ranks=True)
    except RuntimeError as error:
        assert (
            f"Rank{'s' if size > 2 else ''} {', '.join(map(str, range(1, size)))} failed to pass monitoredBarrier in 300 ms"
            in str(error)
        )
    dist.barrier()


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for turn in range(3):
        dist.init_process_group("gloo")
        assert dist.get_rank() == rank and dist.get_world_size() == size
        if turn == 0:
            groups(rank, size)
            objects(rank, size)
            works(rank, size)
            refusals(rank, size)
        x = torch.tensor([rank + turn])
        dist.all_reduce(x)
        assert x.item() == sum(r + turn for r in range(size))
        dist.destroy_process_group()
        assert not dist.is_initialized()
        refused(ValueError, "Default process group has not been initialized", dist.get_rank)
    refused(
        ValueError,
        "entered once per process",
        dist.init_process_group,
        "gloo",
        rank=0,
        world_size=size + 1,
    )
    assert "mpi4py" in sys.modules and not [name for name in os.environ if name.startswith("PMI_")]
    print(f"rank {rank} of {size}: all well")


if __name__ == "__main__":
    main()
