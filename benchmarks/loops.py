"""Generated loops: memory-bound chains, reductions by rows and columns, and tiny ones, by their
rate and the machine's floor.

``python benchmarks/loops.py`` runs on one core; ``--no-pin`` with ``OMP_NUM_THREADS=2`` on two.
GB/s counts each operand once; the floor is a copy of the same number of bytes, measured just
before. Tiny loops are called from native code, without Python.
"""

from __future__ import annotations

import sys
import time

import harness  # noqa: F401  first: it fixes the thread counts before NumPy is loaded
import ml_dtypes
import numpy as np

from pellucid.kernels.pointwise import loop as loops
from pellucid.kernels.pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write
from pellucid.llvm import jit, threads

X, G, B = ("in", 0), ("in", 1), ("in", 2)


def step(op: str, *args, dtype: str = "float32", **params) -> PointwiseOp:
    return PointwiseOp(op, args, dtype, tuple(params.items()))


def last(steps: list[PointwiseOp]):
    return ("step", len(steps) - 1)


def chain(shape: tuple[int, ...]) -> Loop:
    """tanh(x * 2 + 1) * sigmoid(x), and its gradient times g, both written: a forward and a
    backward in one pass.
    """
    d = dense(shape)
    s = [
        step("mul", X, ("const", 2.0)),
        step("add", ("step", 0), ("const", 1.0)),
        step("tanh", ("step", 1)),
        step("sigmoid", X),
        step("mul", ("step", 2), ("step", 3)),
        step("mul", ("step", 2), ("step", 2)),
        step("sub", ("const", 1.0), ("step", 5)),
        step("mul", ("step", 6), ("step", 3)),
        step("mul", ("step", 7), ("const", 2.0)),
        step("sub", ("const", 1.0), ("step", 3)),
        step("mul", ("step", 4), ("step", 9)),
        step("add", ("step", 8), ("step", 10)),
        step("mul", ("step", 11), G),
    ]
    return Loop(shape, (d, d), (), tuple(s), (Write(("step", 4), d), Write(("step", 12), d)))


def dense(shape: tuple[int, ...], kind: str = "float32") -> Access:
    strides, size = [], 1
    for n in reversed(shape):
        strides.insert(0, size)
        size *= n
    return Access(kind, tuple(strides))


def kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> Access:
    strides, size = [0] * len(shape), 1
    for d in reversed(range(len(shape))):
        if d not in axes:
            strides[d], size = size, size * shape[d]
    return Access("float32", tuple(strides))


def plain(
    shape: tuple[int, ...], *steps: PointwiseOp, bias: bool = False, two: bool = False
) -> Loop:
    d = dense(shape)
    reads = (
        d,
        *([d] if two else []),
        *([Access("float32", (0,) * (len(shape) - 1) + (1,))] if bias else []),
    )
    return Loop(shape, reads, (), steps, (Write(("step", len(steps) - 1), d),))


def sums(shape: tuple[int, ...], axes: tuple[int, ...], kind: str = "sum") -> Loop:
    return Loop(
        shape, (dense(shape),), (), (), (), (Reduce(kind, X, axes, kept(shape, axes), "float32"),)
    )


def bias_gradient(shape: tuple[int, ...]) -> Loop:
    """The gradient through relu, written, and its sum over rows."""
    d = dense(shape)
    return Loop(shape, (d, d), (), (step("relu_backward", X, G),), (Write(("step", 0), d),),
                (Reduce("sum", ("step", 0), (0,), kept(shape, (0,)), "float32"),))  # fmt: skip


def softmax(shape: tuple[int, ...]) -> Loop:
    """Three passes over each row."""
    steps = (
        step("sub", X, ("reduce", 0)),
        step("exp", ("step", 0)),
        step("div", ("step", 1), ("reduce", 1)),
    )
    axes, d = (len(shape) - 1,), dense(shape)
    reduces = (
        Reduce("max", X, axes, None, "float32"),
        Reduce("sum", ("step", 1), axes, None, "float32"),
    )
    return Loop(shape, (d,), (), steps, (Write(("step", 2), d),), reduces)


def layer_norm(shape: tuple[int, ...]) -> Loop:
    """Mean, then the mean of squares around it, then the result."""
    axes, d, row = (len(shape) - 1,), dense(shape), Access("float32", (*[0] * (len(shape) - 1), 1))
    steps = (
        step("sub", X, ("reduce", 0)),
        step("square", ("step", 0)),
        step("add", ("reduce", 1), ("const", 1e-5)),
        step("rsqrt", ("step", 2)),
        step("mul", ("step", 0), ("step", 3)),
        step("mul", ("step", 4), G),
        step("add", ("step", 5), B),
    )
    reduces = (
        Reduce("mean", X, axes, None, "float32"),
        Reduce("mean", ("step", 1), axes, None, "float32"),
    )
    return Loop(shape, (d, row, row), (), steps, (Write(("step", 6), d),), reduces)


TWO = 1 << 21
LOOPS = {
    "copy 2M": plain((TWO,), step("mul", X, ("const", 1.0))),
    "add 2M": plain((TWO,), step("add", X, G), two=True),
    "chain forward and backward 2M": chain((TWO,)),
    "exp 2M": plain((TWO,), step("exp", X)),
    "gelu 2M": plain((TWO,), step("gelu", X)),
    "bias + gelu 768 x 512": plain(
        (768, 512), step("add", X, G), step("gelu", ("step", 0)), bias=True
    ),
    "bias + relu 512 x 1024": plain(
        (512, 1024), step("add", X, G), step("relu", ("step", 0)), bias=True
    ),
    "relu backward + bias gradient 512 x 1024": bias_gradient((512, 1024)),
    "relu backward + bias gradient 128 x 10": bias_gradient((128, 10)),
    "sum of all 2M": sums((TWO,), (0,)),
    "sum of rows 2048 x 1024": sums((2048, 1024), (1,)),
    "sum of columns 2048 x 1024": sums((2048, 1024), (0,)),
    "sum of columns 65536 x 32": sums((65536, 32), (0,)),
    "sum of rows 65536 x 32": sums((65536, 32), (1,)),
    "max of rows 2048 x 1024": sums((2048, 1024), (1,), "max"),
    "max of columns 2048 x 1024": sums((2048, 1024), (0,), "max"),
    "channel sums 32 x 64 x 16 x 16": sums((32, 64, 16, 16), (0, 2, 3)),
    "softmax 3072 x 64": softmax((3072, 64)),
    "layer norm 768 x 128": layer_norm((768, 128)),
    "transposed copy 512 x 1024": Loop(
        (512, 1024), (Access("float32", (1, 512)),), (), (), (Write(X, dense((512, 1024))),)
    ),
    "softmax 16 x 10": softmax((16, 10)),
    "bias + relu 16 x 32": plain((16, 32), step("add", X, G), step("relu", ("step", 0)), bias=True),
    "relu backward + bias gradient 16 x 32": bias_gradient((16, 32)),
    "bias 16 x 4": plain((16, 4), step("add", X, G), bias=True),
    "columns 16 x 4": sums((16, 4), (0,)),
    "mul 8": plain((8,), step("mul", X, ("const", 2.0))),
    "sum of 64": sums((64,), (0,)),
}


def arrays_of(loop: Loop) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for access in (
        *loop.reads,
        *(w.access for w in loop.writes),
        *(r.access for r in loop.reduces if r.access),
    ):
        size = 1 + sum((n - 1) * s for n, s in zip(loop.shape, access.strides, strict=True))
        made.append(
            rng.standard_normal(size).astype(
                ml_dtypes.bfloat16 if access.dtype == "bfloat16" else access.dtype
            )
        )
    return made


def native(loop: Loop, team: int):
    """(what calls the loop `count` times from native code, the kernel)."""
    kernel = loops.emit(loop, "loop")
    given = len(kernel.signature) - (kernel.scratch_bytes > 0)
    names = [f"%p{i}" for i in range(given)]
    scratch = ", ptr %scratch" if kernel.scratch_bytes else ""
    text = (
        loops.module_text([kernel])
        + f"""
define void @many({", ".join(f"ptr {n}" for n in names)}, ptr %scratch, i64 %count) noinline {{
entry:
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  call void @loop({", ".join(f"ptr {n}" for n in names)}{scratch}) noinline
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}}
"""
    )
    many = jit.compile_ir(text, {"many": "a" * (given - 1) + "pai"})["many"]
    arrays, scratch_memory = arrays_of(loop), np.empty(kernel.scratch_bytes // 8 + 1)
    return lambda count: many(*arrays, team, scratch_memory, count), kernel


def seconds(run, target: float = 0.02, rounds: int = 7) -> float:
    run(1)
    count = 1
    while True:
        started = time.perf_counter()
        run(count)
        spent = time.perf_counter() - started
        if spent > target / 4 or count > 1_000_000:
            break
        count *= 4
    best = spent / count
    for _ in range(rounds):
        started = time.perf_counter()
        run(count)
        best = min(best, (time.perf_counter() - started) / count)
    return best


def copy_rate(size: int) -> float:
    """Bytes a second of a copy that reads and writes `size` bytes in all."""
    a = np.ones(max(8, size // 2), np.uint8)
    b = np.empty_like(a)

    def run(count: int) -> None:
        for _ in range(count):
            b[:] = a

    return 2 * a.size / seconds(run)


def main() -> None:
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    print(f"{'loop':44} {'us':>10} {'GB/s':>8} {'copy':>8} {'compile ms':>10}")
    for name, loop in LOOPS.items():
        if wanted and not any(w in name for w in wanted):
            continue
        started = time.perf_counter()
        run, kernel = native(loop, threads.team())
        made = time.perf_counter() - started
        spent = seconds(run)
        rate = copy_rate(kernel.bytes) if kernel.bytes > 1 << 16 else float("nan")
        print(
            f"{name:44} {spent * 1e6:10.3f} {kernel.bytes / spent / 1e9:8.1f} {rate / 1e9:8.1f} {made * 1e3:10.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
