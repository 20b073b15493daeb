"""Loops computed by NumPy, point by point of the definition: what generated loops are compared
with.
"""

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

from pellucid.core.primitive import PRIMITIVES
from pellucid.kernels.pointwise import loop as loops

REDUCERS = {
    "sum": np.sum,
    "mean": lambda x, axis: np.sum(x, axis) / np.prod([x.shape[d] for d in axis]),
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "any": np.any,
    "all": np.all,
}


def dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def access(array, shape=None):
    """How a loop of this shape walks over an array (broadcast to it)."""
    seen = array if shape is None else np.broadcast_to(array, shape)
    return loops.Access(
        array.dtype.name,
        tuple(s // array.itemsize if n > 1 else 0 for n, s in zip(seen.shape, seen.strides)),
    )


MARGIN = 256  # bytes around results that must stay as they are


def empty(access_, shape):
    """An array to write to, with these strides; and the bytes around it."""
    kind = dtype(access_.dtype)
    low = sum((n - 1) * s for n, s in zip(shape, access_.strides) if n and s < 0) * kind.itemsize
    high = sum((n - 1) * s for n, s in zip(shape, access_.strides) if n and s > 0) * kind.itemsize
    size = high - low + kind.itemsize if 0 not in shape else 0
    memory = np.full(size + 2 * MARGIN, 0xA5, np.uint8)
    inside = memory[MARGIN : MARGIN + size].view(kind)
    start = -low // kind.itemsize
    made = (
        as_strided(inside[start:], shape, [s * kind.itemsize for s in access_.strides])
        if size
        else np.empty(shape, kind)
    )
    return made, memory


def forward(op, args, kind, params):
    """The record's forward rule, on arguments in the dtype that the engine would give them."""
    record = PRIMITIVES[op]
    compared = record.promote == "compare"
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    to = np.result_type(*arrays) if compared else dtype(kind)
    given = []
    for i, a in enumerate(args):
        if (
            a is None
            or op == "where"
            and i == 0
            or op == "masked_fill"
            and i == 1
            or op in ("cast", "dropout")
        ):
            given.append(a)
        elif len(record.args) == 1 and kind == "bool" and not compared:
            given.append(a)
        elif isinstance(a, np.ndarray):
            given.append(a.astype(to))
        else:
            wide = (record.numbers == "wide") and to.itemsize == 2
            given.append(np.asarray(a, np.float32 if wide else to))
    with np.errstate(all="ignore"):
        return np.asarray(record.numpy_forward(*given, **dict(params))).astype(dtype(kind))


def evaluate(loop, arrays, numbers=()):
    """The values of writes and reductions, the latter computed in float64."""
    done, results = [], {}

    def reduce(k):
        """Reduction `k`, with the dimensions that it reduces kept."""
        if k not in results:
            r = loop.reduces[k]
            x = np.broadcast_to(value(r.value), loop.shape)
            if r.kind in ("sum", "mean", "prod"):
                x = x.astype(np.float64 if dtype(r.dtype).kind in "fV" else np.int64)
            with np.errstate(all="ignore"):
                made = np.asarray(REDUCERS[r.kind](x, axis=r.axes)).astype(dtype(r.dtype))
            results[k] = made.reshape([1 if d in r.axes else n for d, n in enumerate(loop.shape)])
        return results[k]

    def value(arg):
        what, which = arg
        if what in ("in", "step"):
            return (arrays if what == "in" else done)[which]
        return reduce(which) if what == "reduce" else numbers[which] if what == "scalar" else which

    for step in loop.steps:
        made = forward(step.op, [value(a) for a in step.args], step.dtype, step.params)
        done.append(np.broadcast_to(made, np.broadcast_shapes(made.shape, loop.shape)))
    written = [
        np.broadcast_to(value(w.value), loop.shape).astype(dtype(w.access.dtype))
        for w in loop.writes
    ]
    kept = [tuple(n for d, n in enumerate(loop.shape) if d not in r.axes) for r in loop.reduces]
    return written, [
        reduce(k).reshape(kept[k]) for k, r in enumerate(loop.reduces) if r.access is not None
    ]


def run(loop, arrays, numbers=()):
    """What the generated function gives for the same."""
    written = [r for r in loop.reduces if r.access is not None]
    results = [empty(w.access, loop.shape) for w in loop.writes]
    for r in written:
        kept = tuple(n for d, n in enumerate(loop.shape) if d not in r.axes)
        results.append(
            empty(
                loops.Access(
                    r.dtype, tuple(s for d, s in enumerate(r.access.strides) if d not in r.axes)
                ),
                kept,
            )
        )
    compiled = loops.compile(loop)
    assert compiled is not None
    made = [array for array, _ in results]
    compiled(*arrays, *made, *numbers)
    for _, memory in results:
        assert (memory[:MARGIN] == 0xA5).all() and (memory[-MARGIN:] == 0xA5).all()
    return made[: len(loop.writes)], made[len(loop.writes) :]
