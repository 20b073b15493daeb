"""Few elements without NumPy's fixed cost of a call: the same bits, and None for all other arguments."""

import itertools
import sys

import numpy as np
import pytest

import pellucid as torch
from pellucid import config
from pellucid.arrays import native, numpy_cpu
from pellucid.arrays.formulas import quick_of
from pellucid.core.callers import fixed_names
from pellucid.core.primitive import PRIMITIVES
from pellucid.kernels.pointwise.alike import alike
from pellucid.llvm import jit, target

pytestmark = pytest.mark.skipif(
    not target.available() or not jit.fastcall_works(), reason="no compiler"
)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-40, 88.0, -104.0, np.inf, -np.inf, np.nan]


def served(kind=native.Quick):
    for name, op in PRIMITIVES.items():
        few = quick_of(name, op.forward, op.numpy_forward)
        if type(few) is kind:
            yield op, few


def same(made, expected, signs=True):
    assert made.dtype == expected.dtype and made.shape == expected.shape
    np.testing.assert_array_equal(made, expected)
    known = ~np.isnan(expected) & signs
    assert np.array_equal(np.signbit(made)[known], np.signbit(expected)[known])


def test_the_bits_are_those_of_the_forward_rule():
    rng, count = np.random.default_rng(0), 0
    for op, few in served():
        for char in "fd":
            run = alike(few.name, char)
            if run is None:
                continue
            for sample in op.samples(rng) if op.samples else ():
                arrays = [
                    np.resize([*SPECIAL[k:], *a.ravel(), *SPECIAL[:k]], (5, 7)).astype(char)
                    for k, a in enumerate(sample.args)
                    if isinstance(a, np.ndarray) and a.dtype.kind == "f"
                ]
                if len(arrays) != len(sample.args):
                    continue
                made = run(*arrays, *sample.params.values())
                if made is not None:
                    either = op.name in ("maximum", "minimum", "fmax", "fmin")  # of 0.0 and -0.0
                    expected = np.asarray(op.numpy_forward(*arrays, **sample.params))
                    same(made, expected, not either)
                    count += 1
    assert count > 60


@pytest.mark.parametrize("char", "fd")
def test_layouts_keep_their_order_and_others_are_left(char):
    run, kind = alike("addcmul", char), np.dtype(char)
    x, y = np.random.default_rng(1).standard_normal((2, 6, 7)).astype(kind)
    cube = np.random.default_rng(2).standard_normal((2, 3, 4, 5)).astype(kind)
    dense = [
        x,
        x.T,
        np.asfortranarray(y),
        x[:, None],
        x[:0],
        x[:1],
        cube.transpose(0, 3, 1, 2),
        cube.T,
    ]
    gaps = [x[::2], x[:, ::-1], np.broadcast_to(x[:1], x.shape), cube[..., ::2], cube[::-1].T]
    for a in dense:
        made, expected = run(a, a, a, 0.5), a + a * a * kind.type(0.5)
        same(made, expected)
        assert made.strides == expected.strides or not a.size
    assert all(run(a, a, a, 0.5) is None for a in gaps)
    for a, b in itertools.product((x, y.copy("F"), x.reshape(7, 6).T, x[::-1]), repeat=2):
        made = run(a, b, a, 1)
        assert made is None or np.array_equal(made, a + b * a)


def test_other_arguments_are_left_to_the_caller():
    run, x = alike("addcmul", "f"), np.ones((2, 3), np.float32)
    others = [
        (x, x, x, True), (x, x, x, None), (x, x, x, 1j), (x, x, x, np.float32(1)), (x, x, x, 1e39),
        (x, x, x, -1e300), (x, x, x, 10**400), (x, x, x[:1], 1), (x, x, x.ravel(), 1),
        (x, x, x.astype("d"), 1), (x, x, x.astype("f2"), 1), (x, x, x.astype(">f4"), 1),
        (x, x, [1.0], 1), (x, None, x, 1), (x, x, x.view(np.recarray), 1),
        (np.zeros(4097, np.float32),) * 3 + (1,),
    ]  # fmt: skip
    none = sys.getrefcount(None)
    for given in others * 50:
        assert run(*given) is None
    assert abs(sys.getrefcount(None) - none) < 200
    assert run(x, x, x, float("inf")).tolist() == [[np.inf] * 3] * 2
    bound = alike("between", "f")
    assert bound(x, None, 0.5).max() == 0.5 and bound(x, 2, None).min() == 2
    assert bound(x, float("nan"), 1) is None


def test_a_function_is_made_once_calls_are_many(monkeypatch):
    monkeypatch.setattr(native.Quick, "LOADING", 5)
    monkeypatch.setattr(native.Quick, "COMPILER", 5)
    monkeypatch.setattr(native, "QUICK", {})
    few = native.quick("relu6")
    few.name = "hardswish"
    x = np.linspace(-4, 4, 9, dtype=np.float32)
    assert [few(x) is None for _ in range(8)] == [True] * 4 + [False] * 4
    assert few(x.astype("i4")) is None and few["i"] is None
    assert few(x.astype("f2")).dtype == np.float16
    monkeypatch.setattr(config, "kernels", False)
    assert few(x) is None


def test_recorded_results_have_gradients():
    x = torch.linspace(-2, 2, 6).requires_grad_()
    for _ in range(native.Quick.COMPILER):
        torch.nn.functional.elu(x.detach())
    y = torch.nn.functional.elu(x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.where(x > 0, 1.0, x.detach().exp()))


def test_new_arrays_of_a_kernel():
    """The letter `n` of `jit.compile_ir`: a new array like the one that is given."""
    text = (
        "define void @twice_of(ptr %x, ptr %out) {\n  %v = load double, ptr %x\n"
        "  %w = fadd double %v, %v\n  store double %w, ptr %out\n  ret void\n}\n"
    )
    run = jit.compile_ir(text, {"twice_of": "an"})["twice_of"]
    x = np.array([[1.5]])
    made = run(x, np.broadcast_to(0.0, (1, 1)))
    assert made.tolist() == [[3.0]] and made.flags.owndata and made.flags.carray
    with pytest.raises(TypeError):
        run(x, None)


def test_what_is_planned_for_a_shape_has_the_bits_of_the_forward_rule():
    torch.nn.functional.gelu(torch.ones(100))  # code is there
    rng, seen = np.random.default_rng(0), set()
    for op, few in served(native.Planned):
        names = fixed_names(op) or ()
        usual = getattr(op.forward, "__kwdefaults__", None) or {}
        for char in "fd":
            for sample in op.samples(rng):
                x = np.asarray(sample.args[0]).real.astype(char)
                given = {**usual, **sample.params}
                params = [given[name] for name in names]
                made = few[char](x, *params)
                if made is None:
                    continue
                expected = op.run_forward(numpy_cpu, [x], given)
                several = isinstance(expected, tuple)
                for a, b in zip(
                    made if several else [made], expected if several else [expected], strict=True
                ):
                    same(a, b)
                seen.add(op.name)
                assert few[char](x.astype(x.dtype.newbyteorder()), *params) is None
                if x.ndim and x.shape[-1] > 1:
                    assert few[char](x[..., ::2], *params) is None
                assert few[char](np.zeros((0, *x.shape[1:]), char), *params) is None
    assert seen >= {
        "cumsum",
        "cumprod",
        "cummax",
        "cummin",
        "softmax",
        "log_softmax",
        "avg_pool",
        "max_pool",
        "sum",
        "mean",
        "prod",
        "amax",
        "amin",
        "max_all",
        "min_all",
        "var",
        "std",
        "var_mean",
        "std_mean",
        "vector_norm",
        "median",
        "nanmedian",
        "median_all",
        "nanmedian_all",
        "mode",
        "kthvalue",
        "topk",
    }
