"""Loops whose steps use reductions of their row: softmax, norms, and their gradients, in passes
over a row.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.kernels.pointwise import loop as loops
from pellucid.kernels.pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write

from .loops_reference import access, dtype, evaluate, run
from .test_loop import X, check, dense, operands, reduced

G = ("in", 1)


def softmax(shape, axes, kind="float32", read=None, write=None):
    steps = (
        PointwiseOp("sub", (X, ("reduce", 0)), kind),
        PointwiseOp("exp", (("step", 0),), kind),
        PointwiseOp("div", (("step", 1), ("reduce", 1)), kind),
    )
    reduces = (Reduce("max", X, axes, None, kind), Reduce("sum", ("step", 1), axes, None, kind))
    return Loop(
        shape,
        (read or dense(shape, kind),),
        (),
        steps,
        (Write(("step", 2), write or dense(shape, kind)),),
        reduces,
    )


ROWS = [
    ((6, 40), (1,)),
    ((1, 7), (1,)),
    ((9, 1), (1,)),
    ((100,), (0,)),
    ((), ()),
    ((64, 10), (1,)),
    ((5, 12, 30), (2,)),
    ((5, 12, 30), (1,)),
    ((5, 12, 30), (0, 2)),
    ((300, 200), (1,)),
    ((300, 200), (0,)),
    ((3, 9000), (1,)),
    ((2, 70_000), (1,)),
    ((0, 4), (1,)),
]


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape, axes", ROWS)
def test_softmax(shape, axes, kind, thread_count):
    x = np.asarray(np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype(kind))
    check(
        softmax(shape, axes, kind),
        [x],
        rtol={"float32": 3e-6, "float64": 1e-14, "bfloat16": 0.02}[kind],
    )


def test_softmax_of_strided_rows():
    rng = np.random.default_rng(1)
    for x in (
        rng.standard_normal((50, 30)).T,
        rng.standard_normal((20, 90))[:, ::3],
        rng.standard_normal((20, 40))[::-1, ::-1],
    ):
        x = x.astype(np.float32, order="K")
        check(softmax(x.shape, (1,), read=access(x)), [x], rtol=3e-6)


def test_rows_of_nothing():
    assert run(softmax((4, 0), (1,)), [np.zeros((4, 0), np.float32)])[0][0].shape == (4, 0)


def test_softmax_in_place():
    x = np.random.default_rng(2).standard_normal((40, 50)).astype(np.float32)
    (want,), _ = run(softmax(x.shape, (1,)), [x])
    loops.compile(softmax(x.shape, (1,)))(x, x)
    np.testing.assert_array_equal(x, want)


def test_rows_with_nan_and_infinities():
    x = np.random.default_rng(3).standard_normal((5, 20)).astype(np.float32)
    x[1, 3], x[2, 4], x[3] = np.nan, np.inf, -np.inf
    (got,), _ = run(softmax(x.shape, (1,)), [x])
    assert np.isnan(got[1:4]).all() and np.isfinite(got[[0, 4]]).all()


def layer_norm(shape, kind="float32"):
    axes, row = (len(shape) - 1,), Access(kind, (*[0] * (len(shape) - 1), 1))
    steps = (
        PointwiseOp("sub", (X, ("reduce", 0)), kind),
        PointwiseOp("square", (("step", 0),), kind),
        PointwiseOp("add", (("reduce", 1), ("const", 1e-5)), kind),
        PointwiseOp("rsqrt", (("step", 2),), kind),
        PointwiseOp("mul", (("step", 0), ("step", 3)), kind),
        PointwiseOp("mul", (("step", 4), ("in", 1)), kind),
        PointwiseOp("add", (("step", 5), ("in", 2)), kind),
    )
    reduces = (
        Reduce("mean", X, axes, reduced(shape, axes, kind), kind),
        Reduce("mean", ("step", 1), axes, reduced(shape, axes, kind), kind),
    )
    return Loop(
        shape,
        (dense(shape, kind), row, row),
        (),
        steps,
        (Write(("step", 6), dense(shape, kind)),),
        reduces,
    )


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(7, 32), (768, 128), (4, 5, 50), (3, 10_000), (2, 1)])
def test_layer_norm(shape, kind, thread_count):
    rng = np.random.default_rng(4)
    x, w, b = (rng.standard_normal(s).astype(kind) for s in (shape, shape[-1:], shape[-1:]))
    check(layer_norm(shape, kind), [x, w, b], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("shape", [(7, 32), (768, 128), (40, 20), (300, 1100), (3, 20_000)])
def test_layer_norm_backward(shape, thread_count):
    """The gradient of the input by rows, and those of weight and bias as sums over rows, in one
    loop.
    """
    rows, n = shape
    rng = np.random.default_rng(5)
    x, g = (rng.standard_normal(shape).astype(np.float32) for _ in "xg")
    w, mean, rstd = rng.standard_normal(n), x.mean(1, keepdims=True), 1 / x.std(1, keepdims=True)
    arrays = [x, g, w.astype(np.float32), mean.astype(np.float32), rstd.astype(np.float32)]
    row, column = Access("float32", (0, 1)), Access("float32", (1, 0))
    steps = (
        PointwiseOp("sub", (X, ("in", 3)), "float32"),
        PointwiseOp("mul", (("step", 0), ("in", 4)), "float32"),  # normalised
        PointwiseOp("mul", (G, ("in", 2)), "float32"),
        PointwiseOp("mul", (("step", 2), ("step", 1)), "float32"),
        PointwiseOp("mul", (("step", 1), ("reduce", 0)), "float32"),
        PointwiseOp("sub", (("step", 2), ("step", 4)), "float32"),
        PointwiseOp("sub", (("step", 5), ("reduce", 1)), "float32"),
        PointwiseOp("mul", (("step", 6), ("in", 4)), "float32"),
        PointwiseOp("mul", (G, ("step", 1)), "float32"),
    )
    reduces = (
        Reduce("mean", ("step", 3), (1,), None, "float32"),
        Reduce("mean", ("step", 2), (1,), None, "float32"),
        Reduce("sum", ("step", 8), (0,), reduced(shape, (0,)), "float32"),
        Reduce("sum", G, (0,), reduced(shape, (0,)), "float32"),
    )
    loop = Loop(
        shape,
        (dense(shape), dense(shape), row, column, column),
        (),
        steps,
        (Write(("step", 7), dense(shape)),),
        reduces,
    )
    check(loop, arrays, rtol=1e-3, atol=2e-5)


def test_values_of_other_dtypes_and_results_that_are_written():
    """Where the largest of each row is, and how many elements have it."""
    x = np.random.default_rng(6).integers(-5, 5, (70, 33))
    steps = (PointwiseOp("eq", (X, ("reduce", 0)), "bool"),)
    reduces = (
        Reduce("max", X, (1,), reduced(x.shape, (1,), "int64"), "int64"),
        Reduce("sum", ("step", 0), (1,), reduced(x.shape, (1,), "int64"), "int64"),
    )
    check(
        Loop(
            x.shape, (access(x),), (), steps, (Write(("step", 0), dense(x.shape, "bool")),), reduces
        ),
        [x],
    )


def test_columns_of_a_later_pass_over_rows_of_several_dimensions():
    x = np.random.default_rng(8).standard_normal((6, 5, 7)).astype(np.float32)
    for axes, over in (((0, 1, 2), (0, 1)), ((1, 2), (1,)), ((1, 2), (0, 1)), ((0, 1, 2), (2,))):
        steps = (PointwiseOp("sub", (X, ("reduce", 0)), "float32"),)
        reduces = (
            Reduce("max", X, axes, None, "float32"),
            Reduce("min", ("step", 0), over, reduced(x.shape, over), "float32"),
        )
        check(
            Loop(x.shape, (access(x),), (), steps, (Write(("step", 0), access(x)),), reduces), [x]
        )


def test_rows_over_different_axes_are_refused():
    shape = (4, 5)
    reduces = tuple(Reduce("sum", X, axes, None, "float32") for axes in ((0,), (1,)))
    steps = (PointwiseOp("add", (("reduce", 0), ("reduce", 1)), "float32"),)
    loop = Loop(shape, (dense(shape),), (), steps, (Write(("step", 0), dense(shape)),), reduces)
    with pytest.raises(NotImplementedError, match="different axes"):
        loops.emit(loop, "k")
    with pytest.raises(ValueError, match="neither written nor used"):
        loops.emit(Loop(shape, (dense(shape),), (), (), (), reduces[:1]), "k")


@st.composite
def row_graphs(draw):
    """Random steps over rows, some of them with reductions of the row among their arguments."""
    shape = tuple(
        draw(st.sampled_from((1, 2, 5, 17, 40, 200))) for _ in range(draw(st.integers(1, 3)))
    )
    if math.prod(shape) > 100_000:
        shape = shape[:2]
    axes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    arrays = [draw(operands(shape, "float32")) for _ in range(draw(st.integers(1, 2)))]
    args, steps, reduces = [("in", k) for k in range(len(arrays))], [], []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            kind = draw(st.sampled_from(("max", "min", "mean")))
            access_ = reduced(shape, axes) if draw(st.booleans()) else None
            reduces.append(
                Reduce(
                    kind,
                    draw(st.sampled_from([a for a in args if a[0] != "reduce"])),
                    axes,
                    access_,
                    "float32",
                )
            )
            args.append(("reduce", len(reduces) - 1))
        op = draw(st.sampled_from(("add", "sub", "maximum", "tanh", "relu")))
        count = 1 if op in ("tanh", "relu") else 2
        steps.append(
            PointwiseOp(op, tuple(draw(st.sampled_from(args)) for _ in range(count)), "float32")
        )
        args.append(("step", len(steps) - 1))
    if draw(st.booleans()):
        over = tuple(d for d in range(len(shape)) if draw(st.booleans()))
        reduces.append(Reduce("max", args[-1], over, reduced(shape, over), "float32"))
    writes = (Write(args[-1], dense(shape)), Write(draw(st.sampled_from(args)), dense(shape)))
    used = {
        a
        for item in (*steps, *writes)
        for a in (item.args if isinstance(item, PointwiseOp) else (item.value,))
    }
    reduces = [
        r if ("reduce", k) in used else replace(r, access=r.access or reduced(shape, r.axes))
        for k, r in enumerate(reduces)
    ]
    return Loop(
        shape, tuple(access(a) for a in arrays), (), tuple(steps), writes, tuple(reduces)
    ), arrays


@settings(max_examples=50, deadline=None, derandomize=True)
@given(row_graphs())
def test_random_rows(case):
    loop, arrays = case
    (got, sums), (want, expected) = run(loop, arrays), evaluate(loop, arrays)
    for a, b in zip([*got, *sums], [*want, *expected], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=3e-6)
