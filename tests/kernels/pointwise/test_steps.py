"""Every element-wise record, generated, against its own forward rule."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

from pellucid.core.primitive import PRIMITIVES
from pellucid.ir.formula import FORMULAS
from pellucid.kernels.pointwise import activations
from pellucid.kernels.pointwise import loop as loops
from pellucid.kernels.pointwise.loop import Loop, PointwiseOp, Write
from pellucid.kernels.pointwise.steps import DIVISIONS, costly
from pellucid.llvm import jit, target
from pellucid.llvm.math import ulps

from .loops_reference import access, dtype, forward, run

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
KINDS = (*FLOATS, *INTEGERS, "bool")
ELEMENTWISE = sorted(name for name, op in PRIMITIVES.items() if op.elementwise and name in FORMULAS)
# Records whose values are not rounded exactly: elementary functions and formulas with them.
ROUGH = {name for name in FORMULAS if costly(name)} - {"fmod", "remainder", "floor_divide"} | {
    "tanh"
}
LEFT_OUT = {
    # complex numbers, and special functions that would need code of their own
    "complex",
    "gcd",
    "lcm",
    "nextafter",
    "logaddexp2",
    "erfcx",
    "ndtr",
    "ndtri",
    "log_ndtr",
    "polygamma",
    "igamma",
    "igammac",
    "zeta",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
    "airy_ai",
}
PARAMS = {
    "hardtanh": ({"low": -0.5, "high": 0.75},),
    "leaky_relu": ({"slope": 0.1},),
    "elu": (
        {"alpha": 1.5, "scale": 1.0, "input_scale": 1.0},
        {"alpha": 1.67, "scale": 1.05, "input_scale": 0.5},
    ),
    "softplus": ({"beta": 2.0, "threshold": 3.0},),
    "huber": ({"delta": 1.0, "scale": 1.0}, {"delta": 0.7, "scale": 2.5}),
    "minimum_number": ({"high": 0.25},),
    "clamp_min_number": ({"low": 0.25},),
    "floored": ({"low": 0.25},),
    "addcmul": ({"value": 1}, {"value": 0.3}),
    "addcdiv": ({"value": 1}, {"value": 0.3}),
    "lerp_number": ({"weight": 0.3}, {"weight": 0.8}),
    "clamp": ({"min": -0.5, "max": 0.7}, {"min": None, "max": 1}, {"min": 0, "max": None}),
    "round_decimals": ({"decimals": 1}, {"decimals": -1}),
    "nan_to_num": (
        {"nan": None, "posinf": None, "neginf": None},
        {"nan": 1.0, "posinf": 2.0, "neginf": None},
    ),
    "logit": ({"eps": None}, {"eps": 0.3}),
}


def test_what_is_left_out():
    known = {name for name, op in PRIMITIVES.items() if op.elementwise}
    assert LEFT_OUT <= known - set(FORMULAS) and len(ELEMENTWISE) > 100


def awkward(kind):
    """Values at which functions tend to go wrong."""
    if kind == "bool":
        return np.array([False, True])
    if kind in INTEGERS:
        info = np.iinfo(kind)
        values = [0, 1, 2, 3, 7, 8, 31, 63, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.unique(np.array(values + ([] if info.min == 0 else [-1, -2, -3, -7, -8]), kind))
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        10.0,
        -20.0,
        1e-3,
        100.0,
        -60000.0,
        np.inf,
        -np.inf,
        np.nan,
    ]
    if kind in ("float32", "float64"):
        special += [1e-40, 3e38, -3e38, 1e-20, 16777217.0, 88.0, -104.0]
    return np.array(special).astype(dtype(kind))


def arguments(op, kind):
    """Arrays (numbers for the divisors of integers) of all pairs of awkward values, and of ordinary
    ones.
    """
    rng = np.random.default_rng(zlib.crc32(op.encode()))
    record = PRIMITIVES[op]
    values = awkward(kind)
    if kind in FLOATS:
        values = np.concatenate(
            [values, rng.standard_normal(12).astype(dtype(kind)), rng.random(5).astype(dtype(kind))]
        )
    grids = np.meshgrid(*[values] * min(2, len(record.args)), indexing="ij")
    arrays = [g.reshape(-1) for g in grids]
    if len(record.args) == 3:
        arrays.append(rng.permutation(arrays[1]))
    if op == "where":
        arrays = [rng.integers(0, 2, arrays[0].size).astype(bool), *arrays[:2]]
    if op == "masked_fill":
        arrays[1] = rng.integers(0, 2, arrays[0].size).astype(bool)
    return arrays


def result_kind(op, kind):
    record = PRIMITIVES[op]
    if FORMULAS[op].args in ("compare", "own"):
        return "bool"
    return (
        "int64"
        if op == "square" and kind == "bool"
        else "float32"
        if record.promote == "float" and kind not in FLOATS
        else kind
    )


def loop_of(op, arrays, kind, params, numbers=()):
    """The step over these arrays; `numbers` follow as constants."""
    args = tuple(("in", k) for k in range(len(arrays))) + tuple(("const", v) for v in numbers)
    step = PointwiseOp(op, args, kind, tuple(params.items()))
    out = access(np.empty(arrays[0].shape, dtype(kind)))
    return Loop(
        arrays[0].shape, tuple(access(a) for a in arrays), (), (step,), (Write(("step", 0), out),)
    )


def generated(op, arrays, kind, params, numbers=()):
    return run(loop_of(op, arrays, kind, params, numbers), arrays)[0][0]


def generate(cases):
    """The results of (operation, arrays, dtype, parameters, numbers) each, compiled as one module."""
    names = [f"k{i}" for i in range(len(cases))]
    kernels = [loops.emit(loop_of(*case), name) for case, name in zip(cases, names, strict=True)]
    signatures = {k.symbol: "a" * (len(k.signature) - 1) + "p" for k in kernels}
    natives = jit.compile_ir(loops.module_text(kernels), signatures)
    results = []
    for name, (_, arrays, kind, *_) in zip(names, cases, strict=True):
        results.append(np.empty(arrays[0].shape, dtype(kind)))
        natives[name](*arrays, results[-1], 0)
    return results


def compare(op, got, want, kind, exact=None):
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    a, b = got.astype(np.float64), want.astype(np.float64)
    if op not in ROUGH:
        np.testing.assert_array_equal(a, b)
        if kind in FLOATS and op not in (
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "clamp",
            "clamp_tensor",
            "clamp_min_number",
            "floored",
            "minimum_number",
            "hardtanh",
            "relu",
            "hardsigmoid",
            "hardswish",
        ):
            kept = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a[kept]), np.signbit(b[kept]))
        return
    if kind == "float32" and exact is not None:
        assert ulps(got, exact).max() <= 4
    np.testing.assert_allclose(
        a,
        b,
        rtol={"float32": 2e-6, "float64": 3e-15, "float16": 2e-3, "bfloat16": 1.6e-2}[kind],
        atol={"float32": 3e-7, "float64": 1e-15, "float16": 1e-3, "bfloat16": 8e-3}[kind],
    )


def served(op):
    """(dtype of the arguments, the result's, parameters) that are generated for a record."""
    for kind in KINDS:
        kinds = {"where": ("bool", kind, kind), "masked_fill": (kind, "bool", kind)}.get(
            op, (kind,) * len(PRIMITIVES[op].args)
        )
        for params in PARAMS.get(op, ({},)):
            if kind in INTEGERS and op == "clamp":
                params = {k: None if v is None else int(v) for k, v in params.items()}
            out = result_kind(op, kind)
            if loops.supports(op, kinds, out, tuple(params.items())):
                yield kind, out, params


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_records(op, monkeypatch):
    given = list(served(op))
    if op in DIVISIONS or op == "pow":
        given = [case for case in given if case[0] in FLOATS]
    assert given
    cases = [(op, arguments(op, kind), out, params) for kind, out, params in given]
    with monkeypatch.context() as patch:
        if costly(op):
            # Narrow vectors: there is a call for each lane, and compiling many of them takes its
            # time. Only here: what the forward rules load is there for all later tests.
            host = target.host()
            patch.setattr(target, "host", lambda: replace(host, vector_bits=128))
        made = list(generate(cases))
    for (kind, out, params), (_, arrays, *_), got in zip(given, cases, made, strict=True):
        to = kind if FORMULAS[op].args in ("compare", "own") else out
        want = forward(op, arrays, to, tuple(params.items())).astype(dtype(out))
        exact = None
        if op in ("exp", "log", "log1p", "expm1") and kind == "float32":
            exact = forward(op, [a.astype(np.float64) for a in arrays], "float64", ())
        compare(op, got, want, out, exact)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_division_by_constants(kind):
    x = awkward(kind)
    divisors = (1, 2, 3, 7, 100, *(() if kind.startswith("u") else (-1, -2, -5)))
    for op in DIVISIONS:
        assert not loops.supports(op, (kind, kind), kind) and not loops.supports(
            op, (kind, 0), kind
        )
        for divisor, got in zip(
            divisors, generate([(op, [x], kind, {}, (d,)) for d in divisors]), strict=True
        ):
            np.testing.assert_array_equal(
                got, forward(op, [x, np.asarray(divisor, kind)], kind, ())
            )


@pytest.mark.parametrize("kind", (*FLOATS, *INTEGERS))
def test_powers(kind):
    x = awkward(kind)
    powers = (0, 0.5, 1, 2, 3, -1, -2, 1.7, 4) if kind in FLOATS else (0, 1, 2, 3, 5, 64)
    for power, got in zip(
        powers, generate([("pow", [x], kind, {}, (p,)) for p in powers]), strict=True
    ):
        with np.errstate(all="ignore"):
            want = PRIMITIVES["pow"].numpy_forward(
                x, np.asarray(power, x.dtype) if power not in (0.5, 2, 3, -1) else power
            )
        want = np.asarray(want).astype(x.dtype)
        if kind in FLOATS:
            compare("pow", got, want, kind)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("source", [*KINDS, "uint16", "uint32", "uint64"])
def test_casts(source):
    values = (
        awkward(source) if source in KINDS else np.array([0, 1, 100, np.iinfo(source).max], source)
    )
    if source in FLOATS:
        close = [1.00048828125 + 1e-9, 1.00390625 + 1e-9, 1.01171875 - 1e-10, 65519.9, 1e-7]
        values = np.concatenate([values, np.array(close).astype(dtype(source))])
    cases = []
    for wanted in (*KINDS, "uint16", "uint32", "uint64"):
        x = values
        if source in FLOATS and wanted not in FLOATS and wanted != "bool":
            # Beyond an integer's range C leaves the value open.
            x = x[(x >= (0 if wanted.startswith("u") else -100)) & (x <= 100)]
        assert loops.supports("cast", (source,), wanted)
        cases.append(("cast", [x], wanted, {"dtype": dtype(wanted)}))
    for (_, (x,), wanted, _), got in zip(cases, generate(cases), strict=True):
        with np.errstate(all="ignore"):
            want = x.astype(dtype(wanted))
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


def test_all_values_of_two_bytes_are_rounded_alike():
    bits = np.arange(1 << 16, dtype=np.uint16)
    for kind in ("float16", "bfloat16"):
        x = bits.view(dtype(kind))
        wide = x.astype(np.float32)
        np.testing.assert_array_equal(generated("cast", [x], "float32", {}), wide)
        between = np.nextafter(wide * np.float32(1 + 2.0**-9), np.float32(np.inf))
        with np.errstate(all="ignore"):
            want = between.astype(dtype(kind)).astype(np.float32)
        np.testing.assert_array_equal(
            generated("cast", [between], kind, {}).astype(np.float32), want
        )


@pytest.mark.parametrize("name", sorted(n for n in FORMULAS if n.endswith("_backward")))
def test_backward_kernels(name):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(100).astype(np.float32) for _ in range(2)]
    numbers = [0.3, 0.8, 0.5][: len(FORMULAS[name].numbers)]
    want = getattr(activations, name)(*arrays, *numbers)
    got = generated(
        name, arrays, "float32", dict(zip(FORMULAS[name].numbers, numbers, strict=True))
    )
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_dropout(kind):
    x = np.random.default_rng(0).standard_normal(50).astype(dtype(kind))
    keep = x > 0
    want = forward("dropout", [x], kind, (("keep", keep), ("scale", 1.25)))
    np.testing.assert_array_equal(generated("dropout", [x, keep], kind, {"scale": 1.25}), want)


def test_numbers_are_not_rounded_to_two_bytes_where_the_record_says_so():
    for kind in ("float16", "bfloat16"):
        x = np.random.default_rng(0).standard_normal(200).astype(dtype(kind))
        for op in ("mul", "div", "add"):
            want = forward(op, [x, 1 / 3], kind, ())
            np.testing.assert_array_equal(generated(op, [x], kind, {}, (1 / 3,)), want)


def test_floats_do_not_become_integers():
    for op, out in (("add", "int64"), ("lt", "bool"), ("where", "int64")):
        kinds = ("bool", "int64", 0.5) if op == "where" else ("int64", 0.5)
        assert not loops.supports(op, kinds, out) and loops.supports(op, (*kinds[:-1], 2), out)
    assert not loops.supports("eq", ("bool", 2), "bool") and loops.supports(
        "eq", ("bool", True), "bool"
    )
    assert not loops.supports("lt", ("uint8", -1.0), "bool") and loops.supports(
        "lt", ("uint8", 1.0), "bool"
    )
    args = (("in", 0), ("scalar", 0))
    x = access(np.arange(3))
    for scalar, refused in (("int64", False), ("float64", True)):
        loop = Loop(
            (3,), (x,), (scalar,), (PointwiseOp("add", args, "int64"),), (Write(("step", 0), x),)
        )
        if refused:
            with pytest.raises(NotImplementedError, match="add"):
                loops.emit(loop, "k")
        else:
            loops.emit(loop, "k")
