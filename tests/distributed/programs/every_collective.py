"""Every collective with every dtype, layout and way to call it, held to NumPy."""

import itertools
import sys
import zlib

import numpy as np

import pellucid as torch
import pellucid.distributed as dist

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
    torch.float8_e4m3fn,
]
LAYOUTS = ["contiguous", "strided", "transposed", "empty", "scalar"]


def values(dtype, shape, *key):
    """Small numbers that all ranks can compute for each other: exact in every dtype, sums included."""
    generator = np.random.default_rng([zlib.crc32(repr(k).encode()) for k in key])
    array = generator.integers(0, 2 if dtype is torch.bool else 3, shape)
    if dtype.is_complex:
        array = array + 1j * generator.integers(-3, 4, shape)
    elif dtype.is_signed and not dtype.is_float8:
        array = array - 1
    return np.asarray(array).astype(dtype.numpy)


def tensor(array, layout):
    """A tensor of these values that lies in memory as `layout` says."""
    t = torch.empty(array.shape).to(DTYPE)
    if layout == "strided":
        t = torch.empty((*array.shape[:-1], 2 * array.shape[-1])).to(DTYPE)[..., ::2]
    elif layout == "transposed":
        t = torch.empty(array.shape[::-1]).to(DTYPE).permute(*range(array.ndim)[::-1])
    t._array[...] = array
    return t


def shape_of(layout):
    return {"empty": (0, 3), "scalar": ()}.get(layout, (2, 3))


def same(found, wanted, what):
    found = found._array
    assert found.shape == np.asarray(wanted).shape, (what, found.shape, np.asarray(wanted).shape)
    assert found.dtype == np.asarray(wanted).dtype, (what, found.dtype, np.asarray(wanted).dtype)
    assert (found == wanted).all(), (what, found, wanted)


def reduced(op, arrays, dtype):
    wide = [a.astype(np.float64) if dtype.is_floating_point else a for a in arrays]
    if op in ("SUM", "AVG"):
        total = sum(wide[1:], wide[0]) if dtype is not torch.bool else np.logical_or.reduce(wide)
        if op == "AVG" and dtype is not torch.bool:
            total = np.trunc(total / len(wide)) if dtype.is_integral else total / len(wide)
    else:
        ufunc = {
            "PRODUCT": np.multiply,
            "MIN": np.minimum,
            "MAX": np.maximum,
            "BAND": np.bitwise_and,
            "BOR": np.bitwise_or,
            "BXOR": np.bitwise_xor,
        }
        total = ufunc[op].reduce(np.stack(wide), axis=0)
    return (
        np.asarray(total)
        .astype(np.float32 if dtype.is_floating_point and dtype.itemsize < 4 else dtype.numpy)
        .astype(dtype.numpy)
    )


def call(function, *args, **kwargs):
    """Synchronously or not, as the turn comes."""
    global TURN
    TURN += 1
    if TURN % 2:
        assert function(*args, **kwargs) is None
    else:
        work = function(*args, async_op=True, **kwargs)
        assert (
            work.wait() and work.is_completed() and work.is_success() and work.exception() is None
        )
        work.get_future().wait()


def check(group, members, me, layout):
    global CHECKED
    n, shape = len(members), shape_of(layout)
    mine = [values(DTYPE, shape, str(DTYPE), layout, r) for r in range(n)]
    name = f"{DTYPE} {layout} of {n}"
    ops = ["SUM", "PRODUCT", "MIN", "MAX", "AVG"] + (
        ["BAND", "BOR", "BXOR"] if DTYPE.is_integral else []
    )
    if DTYPE.is_complex:
        ops = ["SUM", "AVG"]
    for op in ops:
        if op == "AVG" and DTYPE in (torch.bool, torch.float8_e4m3fn):
            continue
        t = tensor(mine[me], layout)
        before = t._version
        call(dist.all_reduce, t, getattr(dist.ReduceOp, op), group=group)
        same(t, reduced(op, mine, DTYPE), f"all_reduce {op} {name}")
        assert t._version > before or layout == "empty", f"all_reduce {op} {name} is no write"
        t = tensor(mine[me], layout)
        call(dist.reduce, t, members[-1], getattr(dist.ReduceOp, op), group=group)
        same(t, reduced(op, mine, DTYPE) if me == n - 1 else mine[me], f"reduce {op} {name}")
        parts = [
            [values(DTYPE, shape, str(DTYPE), layout, r, p) for p in range(n)] for r in range(n)
        ]
        out = tensor(np.zeros(shape, DTYPE.numpy), layout)
        call(
            dist.reduce_scatter,
            out,
            [tensor(a, layout) for a in parts[me]],
            getattr(dist.ReduceOp, op),
            group=group,
        )
        same(
            out, reduced(op, [parts[r][me] for r in range(n)], DTYPE), f"reduce_scatter {op} {name}"
        )
        if layout != "scalar":
            out = tensor(np.zeros(shape, DTYPE.numpy), layout)
            call(
                dist.reduce_scatter_tensor,
                out,
                tensor(np.concatenate(parts[me]), "contiguous"),
                getattr(dist.ReduceOp, op),
                group=group,
            )
            same(
                out,
                reduced(op, [parts[r][me] for r in range(n)], DTYPE),
                f"reduce_scatter_tensor {op} {name}",
            )
        CHECKED += 4
    for root in {0, n - 1}:
        t = tensor(mine[me], layout)
        call(dist.broadcast, t, members[root], group=group)
        same(t, mine[root], f"broadcast {name}")
        outs = (
            [tensor(np.zeros(shape, DTYPE.numpy), layout) for _ in range(n)] if me == root else None
        )
        call(dist.gather, tensor(mine[me], layout), outs, dst=members[root], group=group)
        for r in range(n if me == root else 0):
            same(outs[r], mine[r], f"gather {name}")
        out = tensor(np.zeros(shape, DTYPE.numpy), layout)
        call(
            dist.scatter,
            out,
            [tensor(a, layout) for a in mine] if me == root else None,
            src=members[root],
            group=group,
        )
        same(out, mine[me], f"scatter {name}")
        CHECKED += 3
    outs = [tensor(np.zeros(shape, DTYPE.numpy), layout) for _ in range(n)]
    call(dist.all_gather, outs, tensor(mine[me], layout), group=group)
    for r in range(n):
        same(outs[r], mine[r], f"all_gather {name}")
    for whole in [np.stack(mine)] if layout == "scalar" else [np.stack(mine), np.concatenate(mine)]:
        out = tensor(np.zeros_like(whole), "strided" if layout == "strided" else "contiguous")
        call(dist.all_gather_into_tensor, out, tensor(mine[me], layout), group=group)
        same(out, whole, f"all_gather_into_tensor {name}")
    sent = [[values(DTYPE, shape, "all_to_all", r, p) for p in range(n)] for r in range(n)]
    outs = [tensor(np.zeros(shape, DTYPE.numpy), layout) for _ in range(n)]
    call(dist.all_to_all, outs, [tensor(a, layout) for a in sent[me]], group=group)
    for r in range(n):
        same(outs[r], sent[r][me], f"all_to_all {name}")
    CHECKED += 4
    if layout != "scalar":
        out = tensor(np.zeros((n * shape[0], *shape[1:]), DTYPE.numpy), layout)
        call(dist.all_to_all_single, out, tensor(np.concatenate(sent[me]), layout), group=group)
        same(out, np.concatenate([sent[r][me] for r in range(n)]), f"all_to_all_single {name}")
        if layout != "empty":  # rank r sends r + p rows to rank p
            rows = [[values(DTYPE, (r + p, 2), "uneven", r, p) for p in range(n)] for r in range(n)]
            out = tensor(np.zeros((sum(r + me for r in range(n)), 2), DTYPE.numpy), "contiguous")
            call(
                dist.all_to_all_single,
                out,
                tensor(np.concatenate(rows[me]), "contiguous"),
                [r + me for r in range(n)],
                [me + p for p in range(n)],
                group=group,
            )
            same(
                out,
                np.concatenate([rows[r][me] for r in range(n)]),
                f"uneven all_to_all_single {name}",
            )
            lists = [values(DTYPE, (r, 2), "uneven gather", r) for r in range(n)]
            outs = [tensor(np.zeros((r, 2), DTYPE.numpy), "contiguous") for r in range(n)]
            call(dist.all_gather, outs, tensor(lists[me], "contiguous"), group=group)
            for r in range(n):
                same(outs[r], lists[r], f"uneven all_gather {name}")
            CHECKED += 2
    if n > 1:
        to, of = members[(me + 1) % n], members[(me - 1) % n]
        out = tensor(np.zeros(shape, DTYPE.numpy), layout)
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, tensor(mine[me], layout), to, group),
                dist.P2POp(dist.irecv, out, of, group),
            ]
        )
        for work in works:
            work.wait()
        same(out, mine[(me - 1) % n], f"ring {name}")
        out = tensor(np.zeros(shape, DTYPE.numpy), layout)
        if me == 0:
            for r in range(1, n):
                dist.send(tensor(mine[r], layout), members[r], group, tag=5)
        else:
            assert dist.recv(out, group=group, tag=5) == members[0]
            same(out, mine[me], f"send {name}")
        CHECKED += 2


def main():
    global DTYPE, TURN, CHECKED
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    TURN = CHECKED = 0
    groups = [(None, list(range(size)))]
    if size > 2:
        some = [size - 1, 0]
        groups.append((dist.new_group(some), sorted(some)))
    chosen = list(itertools.product(DTYPES, LAYOUTS))
    for DTYPE, layout in chosen[::4] if "quick" in sys.argv else chosen:  # noqa: B007 (read by `check`)
        for group, members in groups:
            if rank in members:
                check(group, members, members.index(rank), layout)
    dist.barrier()
    print(f"rank {rank}: {CHECKED} results")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
