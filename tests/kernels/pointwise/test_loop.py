import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.kernels.pointwise import loop as loops
from pellucid.kernels.pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write
from pellucid.llvm import jit, target, threads

from .loops_reference import access, dtype, evaluate, run


def check(loop, arrays, numbers=(), rtol=2e-6, atol=1e-30):
    """Generated code against NumPy; sums to the accuracy that their terms allow."""
    got, want = run(loop, arrays, numbers), evaluate(loop, arrays, numbers)
    for a, b in zip(got[0], want[0], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol)
    for r, a, b in zip([r for r in loop.reduces if r.access], got[1], want[1], strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if r.kind in ("sum", "mean", "prod") and dtype(r.dtype).kind in "fV":
            terms = math.prod(loop.shape[d] for d in r.axes)
            scale = (
                0
                if r.kind == "prod"
                else max(1e-5 * max(1, terms) ** 0.5, 2e-6 * terms if r.kind == "sum" else 0)
            )
            tolerance = 1e-2 if dtype(r.dtype).itemsize == 2 else 2e-5
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=scale
            )
        else:
            np.testing.assert_array_equal(a, b)


def dense(shape, kind="float32"):
    strides, size = [], 1
    for n in reversed(shape):
        strides.insert(0, size)
        size *= max(n, 1)
    return Access(kind, tuple(strides))


def reduced(shape, axes, kind="float32"):
    """A dense result over the dimensions that are kept."""
    strides, size = [0] * len(shape), 1
    for d in reversed(range(len(shape))):
        if d not in axes:
            strides[d] = size
            size *= max(shape[d], 1)
    return Access(kind, tuple(strides))


X, ONE = ("in", 0), ("const", 1.0)


@st.composite
def operands(draw, shape, kind):
    """An array of this shape: dense, transposed, sliced, reversed or broadcast."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from((1, 1, 1, 2, -1))) for _ in shape]
    broadcast = [draw(st.sampled_from((False, False, True))) for _ in shape]
    sizes = [1 if broadcast[d] else shape[d] * abs(steps[d]) for d in order]
    if kind == "bool":
        base = rng.integers(0, 2, sizes).astype(bool)
    elif dtype(kind).kind in "iu":
        base = rng.integers(0 if kind.startswith("u") else -20, 20, sizes).astype(kind)
    else:
        base = rng.standard_normal(sizes).astype(dtype(kind))
    view = base.transpose(np.argsort(order)) if shape else base
    view = view[
        tuple(
            slice(None) if broadcast[d] else slice(None, None, steps[d]) for d in range(len(shape))
        )
    ]
    return np.broadcast_to(view, shape)


KINDS = (
    "float32",
    "float32",
    "float32",
    "float64",
    "int32",
    "int64",
    "bool",
    "uint8",
    "float16",
    "bfloat16",
)
FLOATS = ("float32", "float64", "float16", "bfloat16")
UNARY = ("neg", "abs", "square", "relu", "floor", "sign")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "squared_difference")


@st.composite
def graphs(draw):
    """A loop of random steps over random operands, with writes and reductions."""
    shape, size = (), 1
    for n in draw(st.lists(st.sampled_from((1, 2, 3, 5, 8, 17, 33, 130, 700, 2100)), max_size=4)):
        if size * n <= 150_000:
            shape, size = (*shape, n), size * n
    arrays = [
        draw(operands(shape, draw(st.sampled_from(KINDS)))) for _ in range(draw(st.integers(1, 3)))
    ]
    kinds, args, steps = [a.dtype.name for a in arrays], [("in", k) for k in range(len(arrays))], []
    for _ in range(draw(st.integers(0, 6))):
        pick = st.integers(0, len(args) - 1)
        a, b = draw(pick), draw(pick)
        what = draw(st.sampled_from(("unary", "binary", "number", "compare", "where", "cast")))
        kind = draw(st.sampled_from(FLOATS))
        if what == "compare":
            steps.append(
                PointwiseOp(
                    draw(st.sampled_from(("lt", "ge", "eq", "ne"))),
                    (args[a], args[a]),
                    kind := "bool",
                )
            )
        elif what == "where":
            c = [k for k, name in enumerate(kinds) if name == "bool"]
            if not c:
                continue
            steps.append(PointwiseOp("where", (args[c[0]], args[a], args[b]), kind))
        elif what == "cast":
            kind = draw(
                st.sampled_from([k for k in KINDS if k[0] != "u" or kinds[a] in ("bool", "uint8")])
            )
            steps.append(PointwiseOp("cast", (args[a],), kind, (("dtype", dtype(kind)),)))
        elif what == "unary":
            steps.append(PointwiseOp(draw(st.sampled_from(UNARY)), (args[a],), kind))
        else:
            other = (
                ("const", draw(st.sampled_from((0.5, 2.0, -1.0)))) if what == "number" else args[b]
            )
            steps.append(PointwiseOp(draw(st.sampled_from(BINARY)), (args[a], other), kind))
        args.append(("step", len(steps) - 1))
        kinds.append(kind)
    writes = tuple(
        Write(args[k], dense(shape, kinds[k]))
        for k in {len(args) - 1, draw(st.integers(0, len(args) - 1))}
    )
    reduces = []
    for _ in range(draw(st.integers(0, 3))):
        k = draw(st.integers(0, len(args) - 1))
        axes = tuple(d for d in range(len(shape)) if draw(st.booleans()))
        if kinds[k] == "bool":
            how = draw(st.sampled_from(("any", "all", "sum")))
            kind = "int64" if how == "sum" else "bool"
        else:
            how = draw(
                st.sampled_from(
                    ("sum", "mean", "max", "min") if kinds[k] in FLOATS else ("sum", "max", "min")
                )
            )
            kind = "int64" if how == "sum" and kinds[k] not in FLOATS else kinds[k]
        reduces.append(Reduce(how, args[k], axes, reduced(shape, axes, kind), kind))
    return Loop(
        shape, tuple(access(a) for a in arrays), (), tuple(steps), writes, tuple(reduces)
    ), arrays


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_random_graphs(case):
    loop, arrays = case
    check(loop, arrays, rtol=1e-6)


SHAPES = [
    ((7,), (0,)),
    ((1,), (0,)),
    ((), ()),
    ((5, 33), (1,)),
    ((5, 33), (0,)),
    ((5, 33), (0, 1)),
    ((5, 1), (1,)),
    ((3, 4, 5), (0, 2)),
    ((3, 4, 5), (1,)),
    ((2, 300, 70), (1,)),
    ((300, 64), (0,)),
    ((1000, 3), (0,)),
    ((700, 10), (0,)),
    ((90, 1500), (0,)),
    ((4, 200_001), (1,)),
    ((300_000,), (0,)),
    ((2, 8, 16, 16), (0, 2, 3)),
    ((64, 20, 40), (0, 2)),
    ((3, 5000, 40), (1,)),
    ((0, 3), (1,)),
    ((0, 3), (0,)),
    ((3, 0), (1,)),
]


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "bfloat16", "bool"])
@pytest.mark.parametrize("shape, axes", SHAPES)
def test_reductions(shape, axes, kind, thread_count):
    rng = np.random.default_rng(1)
    x = np.asarray(rng.standard_normal(shape) * 3 + 0.5).astype(dtype(kind))
    floating, whole = kind in FLOATS, "int64"
    kinds = ["sum"] + (["mean"] if floating else []) + (["any", "all"] if kind == "bool" else [])
    if 0 not in shape:
        kinds += ["max", "min"]
    results = [kind if floating or how not in ("sum",) else whole for how in kinds]
    reduces = tuple(
        Reduce(how, X, axes, reduced(shape, axes, r), r)
        for how, r in zip(kinds, results, strict=True)
    )
    check(Loop(shape, (access(x),), (), (), (), reduces), [x])


def test_sums_are_accurate():
    x = (np.random.default_rng(0).random((4096, 100)) + 1).astype(np.float32)
    for axes in ((0,), (1,), (0, 1)):
        loop = Loop(
            x.shape,
            (access(x),),
            (),
            (),
            (),
            (Reduce("sum", X, axes, reduced(x.shape, axes), "float32"),),
        )
        got, want = run(loop, [x])[1][0], x.sum(axes, dtype=np.float64)
        assert np.max(np.abs(got - want) / want) < 3e-7


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(3)
    x, g = (rng.standard_normal((700, 900)).astype(np.float32) for _ in "xg")
    steps = (
        PointwiseOp("tanh", (X,), "float32"),
        PointwiseOp("mul", (("step", 0), ("in", 1)), "float32"),
    )
    reduces = tuple(
        Reduce("sum", ("step", 1), axes, reduced(x.shape, axes), "float32")
        for axes in ((0,), (1,), (0, 1))
    )
    loop = Loop(
        x.shape, (access(x), access(g)), (), steps, (Write(("step", 1), access(x)),), reduces
    )
    check(loop, [x, g], atol=1e-7)
    before = threads.get_num_threads()
    results = []
    for count in (1, 2, 3):
        threads.set_num_threads(count)
        results.append(run(loop, [x, g]))
    threads.set_num_threads(before)
    for outs, sums in results[1:]:
        for a, b in zip([*outs, *sums], [*results[0][0], *results[0][1]], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(3, 1025), (40, 2100), (2, 5, 1500)])
def test_rows_and_columns_of_wide_tables(shape, thread_count):
    """Columns are taken in tiles, so rows come in parts."""
    x = np.random.default_rng(9).standard_normal(shape).astype(np.float32)
    last = len(shape) - 1
    reduces = tuple(
        Reduce(how, X, axes, reduced(shape, axes), "float32")
        for how in ("sum", "max")
        for axes in ((last,), tuple(range(last)))
    )
    check(Loop(shape, (access(x),), (), (), (Write(X, dense(shape)),), reduces), [x])


def test_in_place():
    x = np.random.default_rng(0).standard_normal((50, 60)).astype(np.float32)
    want = x * 2 + 1
    steps = (
        PointwiseOp("mul", (X, ("const", 2.0)), "float32"),
        PointwiseOp("add", (("step", 0), ONE), "float32"),
    )
    loops.compile(Loop(x.shape, (access(x),), (), steps, (Write(("step", 1), access(x)),)))(x, x)
    np.testing.assert_array_equal(x, want)


def test_numbers_at_run_time():
    x = np.arange(40, dtype=np.float32)
    steps = (
        PointwiseOp("mul", (X, ("scalar", 0)), "float32"),
        PointwiseOp("add", (("step", 0), ("scalar", 1)), "float32"),
    )
    loop = Loop(
        x.shape, (access(x),), ("float64", "int64"), steps, (Write(("step", 1), access(x)),)
    )
    for numbers in ((0.1, 3), (7.5, -2)):
        check(loop, [x], numbers)


def test_steps_of_numbers_alone():
    x = np.arange(50, dtype=np.float32).reshape(5, 10)
    steps = (
        PointwiseOp("div", (ONE, ("const", 3.0)), "float32"),
        PointwiseOp("gt", (ONE, ("const", 0.5)), "bool"),
        PointwiseOp("where", (("step", 1), ("step", 0), ("const", 7.0)), "float32"),
        PointwiseOp("mul", (X, ("step", 2)), "float32"),
    )
    writes = (
        Write(("step", 3), access(x)),
        Write(("step", 0), access(x)),
        Write(("const", 2.5), access(x)),
    )
    loop = Loop(
        x.shape,
        (access(x),),
        (),
        steps,
        writes,
        (Reduce("sum", ("step", 0), (0,), reduced(x.shape, (0,)), "float32"),),
    )
    outs, (total,) = run(loop, [x])
    third = np.float32(1) / np.float32(3)
    np.testing.assert_array_equal(outs[0], x * third)
    assert (outs[1] == third).all() and (outs[2] == 2.5).all()
    np.testing.assert_allclose(total, 5 * third, rtol=1e-6)
    wide = PointwiseOp("add", (("scalar", 0), ("scalar", 1)), "float64")
    (out,), _ = run(
        Loop(
            (3,), (), ("float64", "int64"), (wide,), (Write(("step", 0), dense((3,), "float64")),)
        ),
        [],
        (0.25, 2),
    )
    assert out.tolist() == [2.25] * 3


def test_maxima_keep_nan():
    x = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    x[3, 7] = np.nan
    x[5] = -np.inf
    for axes in ((0,), (1,), (0, 1)):
        reduces = tuple(
            Reduce(how, X, axes, reduced(x.shape, axes), "float32") for how in ("max", "min")
        )
        check(Loop(x.shape, (access(x),), (), (), (), reduces), [x])


def test_what_is_not_served_is_refused():
    with pytest.raises(NotImplementedError, match="erfcx"):
        loops.emit(
            Loop(
                (3,),
                (dense((3,)),),
                (),
                (PointwiseOp("erfcx", (X,), "float32"),),
                (Write(("step", 0), dense((3,))),),
            ),
            "k",
        )
    with pytest.raises(ValueError, match="max over no element"):
        loops.emit(
            Loop(
                (0,),
                (dense((0,)),),
                (),
                (),
                (),
                (Reduce("max", X, (0,), Access("float32", (0,)), "float32"),),
            ),
            "k",
        )


def test_several_kernels_share_a_module():
    llvm = pytest.importorskip("llvmlite.binding")
    one = Loop(
        (100, 30),
        (dense((100, 30)),),
        (),
        (PointwiseOp("exp", (X,), "float32"),),
        (Write(("step", 0), dense((100, 30))),),
    )
    two = Loop(
        (90_000,),
        (dense((90_000,)),),
        (),
        (),
        (),
        (Reduce("sum", X, (0,), Access("float32", (0,)), "float32"),),
    )
    kernels = [loops.emit(one, "one"), loops.emit(two, "two"), loops.emit(one, "three")]
    assert [k.parallel for k in kernels] == [False, True, False] and kernels[1].scratch_bytes > 0
    assert kernels[0].bytes == 24_000 and kernels[1].bytes == 360_004
    module = llvm.parse_assembly(loops.module_text(kernels))
    module.verify()
    assert {f.name for f in module.functions} >= {"one", "two", "three"}


def test_code_for_aarch64(monkeypatch):
    """The text for another processor is what its code generator takes, without anything of x86."""
    llvm = target.llvm_binding()
    try:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(
            cpu="generic", opt=2
        )
    except RuntimeError:
        pytest.skip("this LLVM has no code generator for AArch64")
    monkeypatch.setattr(target, "host", lambda: target.Target("arm", "generic", "+neon", 128, ""))
    shape, kernels = (300, 100), []
    for kind in ("float32", "float64", "bfloat16", "float16"):
        steps = [
            PointwiseOp(op, (X,), kind)
            for op in ("exp", "tanh", "gelu", "sigmoid", "floor", "relu")
        ]
        steps += [
            PointwiseOp("lt", (X, ONE), "bool"),
            PointwiseOp("where", (("step", 6), ("step", 0), ("step", 1)), kind),
        ]
        reduces = tuple(
            Reduce(how, ("step", 7), (0,), reduced(shape, (0,), kind), kind)
            for how in ("sum", "max")
        )
        loop = Loop(
            shape,
            (Access(kind, (1, 300)),),
            (),
            tuple(steps),
            (Write(("step", 7), dense(shape, kind)),),
            reduces,
        )
        kernels.append(loops.emit(loop, f"k{len(kernels)}"))
    text = loops.module_text(kernels)
    assert "x86" not in text and "<16 x" not in text and "<4 x float>" in text
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = "aarch64-unknown-linux-gnu"
    assembly = machine.emit_assembly(module)
    assert "fadd" in assembly and "k3:" in assembly


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors(monkeypatch, bits):
    host = target.host()
    monkeypatch.setattr(
        target, "host", lambda: replace(host, vector_bits=min(bits, host.vector_bits))
    )
    loops.compile.cache_clear()
    rng = np.random.default_rng(2)
    for shape, axes in (
        ((37, 45), (0,)),
        ((37, 45), (1,)),
        ((5, 3), (0, 1)),
        ((40_000,), (0,)),
        ((70, 1100), (0,)),
    ):
        x = rng.standard_normal(shape).astype(np.float32)
        steps = (
            PointwiseOp("exp", (X,), "float32"),
            PointwiseOp("gelu", (("step", 0),), "float32"),
        )
        reduces = (Reduce("sum", ("step", 1), axes, reduced(shape, axes), "float32"),)
        check(Loop(shape, (access(x),), (), steps, (Write(("step", 1), access(x)),), reduces), [x])
    loops.compile.cache_clear()


BIG = [
    ("transposed", (210, 190), lambda x: x.T),
    ("every other column", (150, 400), lambda x: x[:, ::2]),
    ("backwards", (300, 200), lambda x: x[::-1, ::-1]),
    ("columns of a table", (40_001, 7), lambda x: x[:, 2]),
    ("channels last", (6, 50, 60, 4), lambda x: x.transpose(0, 3, 1, 2)),
    ("one row repeated", (1, 333), lambda x: np.broadcast_to(x, (150, 333))),
    ("one column repeated", (333, 1), lambda x: np.broadcast_to(x, (333, 150))),
]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "uint8", "bool"])
@pytest.mark.parametrize("view", [view for _, _, view in BIG], ids=[name for name, _, _ in BIG])
def test_large_strided_operands(view, kind, thread_count):
    """Dimensions in any order, cut into tasks, with partial vectors at the end."""
    rng = np.random.default_rng(7)
    (shape,) = (shape for _, shape, v in BIG if v is view)
    x = view(
        (
            rng.integers(0, 2, shape) if kind in ("bool", "uint8") else rng.standard_normal(shape)
        ).astype(dtype(kind))
    )
    y = rng.standard_normal(x.shape).astype(np.float32)
    steps = (
        PointwiseOp("cast", (X,), "float32", (("dtype", dtype("float32")),)),
        PointwiseOp("sub", (("step", 0), ("in", 1)), "float32"),
        PointwiseOp("lt", (X, ONE), "bool"),
    )
    out = np.empty(x.shape[::-1], np.float32).T  # written in the other order
    writes = (
        Write(("step", 1), access(y)),
        Write(("step", 2), dense(x.shape, "bool")),
        Write(("step", 1), access(out)),
    )
    axes = tuple(range(1, x.ndim)) or (0,)
    reduces = (
        Reduce("sum", ("step", 1), axes, reduced(x.shape, axes), "float32"),
        Reduce("max", X, (0,), reduced(x.shape, (0,), kind), kind),
    )
    check(Loop(x.shape, (access(x), access(y)), (), steps, writes, reduces), [x, y])


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(16, 16), (33, 47), (130, 301), (3, 40, 64), (5, 70)])
def test_transposed_operands(shape, kind, thread_count):
    rng = np.random.default_rng(4)
    x = (
        (rng.integers(0, 2, shape) if kind in ("bool", "uint8") else rng.standard_normal(shape))
        .astype(dtype(kind))
        .swapaxes(-1, -2)
    )
    y = rng.standard_normal(x.shape).astype(np.float32)
    check(Loop(x.shape, (access(x),), (), (), (Write(X, dense(x.shape, kind)),)), [x])
    steps = (PointwiseOp("add", (X, ("in", 1)), "float32"),)
    check(
        Loop(
            x.shape,
            (access(x), access(y)),
            (),
            steps,
            (Write(("step", 0), access(y)), Write(("step", 0), dense(x.shape))),
        ),
        [x, y],
    )


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "int8", "uint8", "int16", "bool", "int32"])
def test_a_last_vector_of_one_lane_writes_one_element(kind):
    """LLVM stores a truncated lane under a constant mask as wide as it was before; `run` looks at
    what lies behind.
    """
    for n in (17, 33, 65, 1):
        x = np.arange(n) % 3
        steps = (PointwiseOp("cast", (X,), kind, (("dtype", dtype(kind)),)),)
        check(Loop((n,), (access(x),), (), steps, (Write(("step", 0), dense((n,), kind)),)), [x])
        y = np.stack([x] * 5).astype(dtype(kind))
        how = "any" if kind == "bool" else "max"
        check(
            Loop(
                (5, n),
                (access(y),),
                (),
                (),
                (),
                (Reduce(how, X, (0,), reduced((5, n), (0,), kind), kind),),
            ),
            [y],
        )
        check(
            Loop((n,), (access(y[0]),), (), (), (), (Reduce(how, X, (), dense((n,), kind), kind),)),
            [y[0]],
        )


@pytest.mark.parametrize("shape, axes", [s for s in SHAPES if 0 not in s[0]])
def test_partial_results_stay_in_their_memory(shape, axes):
    reduces = tuple(Reduce(how, X, axes, reduced(shape, axes), "float32") for how in ("sum", "max"))
    kernel = loops.emit(Loop(shape, (dense(shape),), (), (), (), reduces), "k")
    if not kernel.scratch_bytes:
        assert kernel.signature[-1] == "ptr" and len(kernel.signature) == 4
        return
    native = jit.compile_ir(loops.module_text([kernel]), {"k": "aaapa"})["k"]
    x, outs = np.ones(shape, np.float32), [np.empty(math.prod(shape), np.float32) for _ in "ab"]
    scratch = np.full(kernel.scratch_bytes // 8 + 64, 7.0)
    native(x, *outs, 0, scratch)
    assert (
        (scratch[-64:] == 7).all()
        and outs[0][0] == math.prod(shape[a] for a in axes)
        and outs[1][0] == 1
    )
