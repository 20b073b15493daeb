"""Every operation whose record carries samples: shapes without data, derivatives against finite
differences, both engines.

A record is tested by adding `samples` to it; nothing is to be written here.
"""

import functools
import itertools
import zlib

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.meta import MetaArray
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.core.transforms import forward_mode

RECORDS = sorted(name for name, op in PRIMITIVES.items() if op.samples is not None)
STEP = 1e-6


@functools.cache
def samples(name):
    return list(PRIMITIVES[name].samples(np.random.default_rng(zlib.crc32(name.encode()))))


def good(name):
    return [s for s in samples(name) if s.error is None]


def smooth(name):
    """Samples with something to differentiate."""
    return [s for s in good(name) if any(wanted_places(PRIMITIVES[name], s))]


def wanted_places(op, sample):
    """For each argument whether it is differentiated."""

    def wanted(i, a):
        if (
            not isinstance(a, np.ndarray)
            or a.dtype.kind not in "fc"
            or op.vjp is None
            or i in sample.constant
        ):
            return False
        return callable(op.vjp) or op.args[min(i, len(op.args) - 1)] in op.vjp

    return [wanted(i, a) for i, a in enumerate(sample.args)]


def tensors(sample, places=()):
    """The arguments as tensors; those at the marked places require grad."""
    made = [make_tensor(a.copy()) if isinstance(a, np.ndarray) else a for a in sample.args]
    for t, wanted in zip(made, places, strict=False):
        if wanted:
            t.requires_grad = True
    return made


def several(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def floats(results):
    return [r for r in results if r._array.dtype.kind in "fc"]


def run(op, sample):
    """The values of the floating-point results."""
    return [t._array for t in floats(several(op.call(*tensors(sample), **sample.params)))]


def inner(a, b):
    """The real inner product, in which complex numbers are pairs of real ones."""
    return sum(float(np.sum((np.conj(x) * y).real)) for x, y in zip(a, b, strict=True))


def directions(op, sample, rng):
    """A random step for each differentiable argument, None for the others."""
    return [
        weights([a], rng)[0] if wanted else None
        for a, wanted in zip(sample.args, wanted_places(op, sample), strict=True)
    ]


def moved(sample, steps, h):
    return sample._replace(
        args=tuple(
            a if v is None else np.asarray(a + h * v)
            for a, v in zip(sample.args, steps, strict=True)
        )
    )


def weights(arrays, rng):
    return [
        np.asarray(
            rng.standard_normal(a.shape)
            + (1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else 0)
        )
        for a in arrays
    ]


def gradients(op, sample, cotangents, create_graph=False):
    leaves = tensors(sample, wanted_places(op, sample))
    outs = floats(several(op.call(*leaves, **sample.params)))
    wanted = [t for t in leaves if isinstance(t, Tensor) and t.requires_grad]
    pairs = [(o, make_tensor(c)) for o, c in zip(outs, cotangents, strict=True) if o.requires_grad]
    got = torch.autograd.grad(
        [o for o, _ in pairs], wanted, [c for _, c in pairs], create_graph=create_graph
    )
    return leaves, got


def cases(pick):
    return [(name, k) for name in RECORDS for k in range(len(pick(name)))]


def case_id(value):
    return str(value)


@pytest.mark.parametrize("name", [name for name in RECORDS if PRIMITIVES[name].batch is not None])
def test_a_batch_gives_what_its_samples_give(name):
    op = PRIMITIVES[name]
    for sample in good(name):
        places = [k for k, a in enumerate(sample.args) if isinstance(a, np.ndarray)]
        for batched in {*((k,) for k in places), tuple(places)} - {()}:
            rows = [
                [
                    make_tensor(np.roll(a, k) if i in batched else a) if i in places else a
                    for i, a in enumerate(sample.args)
                ]
                for k in range(3)
            ]
            expected = [several(op.call(*row, **sample.params)) for row in rows]
            given = [
                torch.stack(column) if i in batched else column[0]
                for i, column in enumerate(zip(*rows, strict=True))
            ]
            dims = tuple(0 if i in batched else None for i in range(len(sample.args)))
            got = several(
                torch.func.vmap(lambda *xs: op.call(*xs, **sample.params), in_dims=dims)(*given)
            )
            for g, column in zip(got, zip(*expected, strict=True), strict=True):
                wanted = torch.stack(column)
                assert (g.shape, g.dtype) == (wanted.shape, wanted.dtype), (batched, sample.params)
                tolerance = 1e-5 if g._array.dtype == np.float32 else 1e-9
                np.testing.assert_allclose(g._array, wanted._array, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", RECORDS)
def test_shapes_without_data_are_those_of_the_result(name):
    op = PRIMITIVES[name]
    for sample in good(name):
        real = several(op.call(*tensors(sample), **sample.params))
        meta = [
            make_tensor(MetaArray(a.shape, a.dtype)) if isinstance(a, np.ndarray) else a
            for a in sample.args
        ]
        described = several(op.call(*meta, **sample.params))
        assert [(t.shape, t.dtype) for t in described] == [(t.shape, t.dtype) for t in real], (
            sample.params
        )
        assert all(t.is_meta for t in described)


@pytest.mark.parametrize(("name", "k"), cases(smooth), ids=case_id)
def test_gradients_against_finite_differences(name, k):
    op, sample = PRIMITIVES[name], smooth(name)[k]
    rng = np.random.default_rng(k)
    out = run(op, sample)
    cotangents = weights(out, rng)
    _, got = gradients(op, sample, cotangents)
    steps = directions(op, sample, rng)
    ahead, behind = (run(op, moved(sample, steps, h)) for h in (STEP, -STEP))
    slope = (inner(cotangents, ahead) - inner(cotangents, behind)) / (2 * STEP)
    found = inner([g._array for g in got], [v for v in steps if v is not None])
    low = any(a.dtype == np.float32 for a in out)
    assert found == pytest.approx(slope, rel=1e-5, abs=0.5 if low else 1e-6)
    for g, a in zip(got, itertools.compress(sample.args, wanted_places(op, sample)), strict=True):
        assert (g._array.shape, g._array.dtype) == (a.shape, a.dtype)


@pytest.mark.parametrize(("name", "k"), cases(smooth), ids=case_id)
def test_both_engines_give_the_same_gradients(name, k):
    op, sample = PRIMITIVES[name], smooth(name)[k]
    cotangents = weights(run(op, sample), np.random.default_rng(k))
    _, raw = gradients(op, sample, cotangents)
    _, recorded = gradients(op, sample, cotangents, create_graph=True)
    for a, b in zip(raw, recorded, strict=True):
        np.testing.assert_allclose(a._array, b._array, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "k"),
    cases(lambda name: [s for s in smooth(name) if sum(wanted_places(PRIMITIVES[name], s)) > 1]),
    ids=case_id,
)
def test_gradients_of_some_arguments_are_those_of_all(name, k):
    """A backward for one argument leaves out the gradients of the others."""
    op = PRIMITIVES[name]
    sample = [s for s in smooth(name) if sum(wanted_places(op, s)) > 1][k]
    outs = several(run(op, sample))
    cotangents = weights(outs, np.random.default_rng(k))
    for create_graph in (False, True):
        leaves, whole = gradients(op, sample, cotangents, create_graph=create_graph)
        wanted = [t for t in leaves if isinstance(t, Tensor) and t.requires_grad]
        outs = floats(several(op.call(*leaves, **sample.params)))
        pairs = [
            (o, make_tensor(c)) for o, c in zip(outs, cotangents, strict=True) if o.requires_grad
        ]
        for t, g in zip(wanted, whole, strict=True):
            (alone,) = torch.autograd.grad(
                [o for o, _ in pairs],
                t,
                [c for _, c in pairs],
                retain_graph=True,
                create_graph=create_graph,
            )
            np.testing.assert_allclose(alone._array, g._array, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "k"), cases(smooth), ids=case_id)
def test_forward_and_reverse_mode_are_adjoint(name, k):
    """<c, J v> = <J* c, v>."""
    op, sample = PRIMITIVES[name], smooth(name)[k]
    rng = np.random.default_rng(k)
    cotangents = weights(run(op, sample), rng)
    steps = directions(op, sample, rng)
    _, got = gradients(op, sample, cotangents)
    level = forward_mode.enter_level()
    try:
        duals = [
            t if v is None else forward_mode.make_dual(t, make_tensor(v), level)
            for t, v in zip(tensors(sample), steps, strict=True)
        ]
        outs = floats(several(op.call(*duals, **sample.params)))
        tangents = [forward_mode.tangent(o, level) for o in outs]
    finally:
        forward_mode.exit_level(level)
    pushed = [
        np.zeros(o.shape) if v is None else v._array for v, o in zip(tangents, outs, strict=True)
    ]
    pulled = inner([g._array for g in got], [v for v in steps if v is not None])
    assert inner(cotangents, pushed) == pytest.approx(
        pulled, rel=1e-6, abs=1e-5 if any(o.dtype is torch.float32 for o in outs) else 1e-8
    )


@pytest.mark.parametrize(("name", "k"), cases(smooth), ids=case_id)
def test_second_derivatives_against_finite_differences(name, k):
    op, sample = PRIMITIVES[name], smooth(name)[k]
    rng = np.random.default_rng(k)
    out = run(op, sample)
    if any(a.dtype == np.float32 for a in out):
        pytest.skip("the result is rounded to float32")
    cotangents = weights(out, rng)
    steps, across = directions(op, sample, rng), directions(op, sample, rng)

    def slope(at):
        _, got = gradients(op, at, cotangents)
        return inner([g._array for g in got], [v for v in across if v is not None])

    difference = (slope(moved(sample, steps, STEP)) - slope(moved(sample, steps, -STEP))) / (
        2 * STEP
    )
    leaves, got = gradients(op, sample, cotangents, create_graph=True)
    wanted = [t for t in leaves if isinstance(t, Tensor) and t.requires_grad]
    pairs = [
        (g, make_tensor(v))
        for g, v in zip(got, [v for v in across if v is not None], strict=True)
        if g.requires_grad
    ]
    if pairs:
        second = torch.autograd.grad(
            [g for g, _ in pairs], wanted, [v for _, v in pairs], allow_unused=True
        )
    else:
        second = [None] * len(wanted)  # linear: the gradient does not depend on the arguments
    found = sum(
        inner([g._array], [v])
        for g, v in zip(second, [v for v in steps if v is not None], strict=True)
        if g is not None
    )
    assert found == pytest.approx(difference, rel=1e-4, abs=1e-5)


PROMOTING = [
    name
    for name in RECORDS
    if PRIMITIVES[name].elementwise and PRIMITIVES[name].promote in ("float", "common")
]


def converted(sample, dtype):
    """The real arguments in another dtype; None when there is nothing to convert."""
    args = [
        a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
        for a in sample.args
    ]
    changed = any(a is not b for a, b in zip(args, sample.args, strict=True))
    complex = any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in args)
    return sample._replace(args=tuple(args)) if changed and not complex else None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", PROMOTING)
def test_results_keep_the_dtype(name, dtype):
    op = PRIMITIVES[name]
    for sample in good(name):
        given = converted(sample, dtype.numpy)
        if given is None:
            continue
        try:
            result = op.call(*tensors(given), **given.params)
        except NotImplementedError:
            continue  # this operation has no kernel for it
        assert result.dtype is dtype


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in PROMOTING
        # PyTorch has none of these for integers
        if PRIMITIVES[name].promote == "float" and name not in ("igamma", "igammac")
    ],
)
def test_integers_become_floats(name):
    op = PRIMITIVES[name]
    for sample in good(name):
        given = converted(sample, np.int64)
        if given is not None:
            wide = sample._replace(
                args=tuple(
                    a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in given.args
                )
            )
            got, expected = (
                op.call(*tensors(given), **given.params),
                op.call(*tensors(wide), **wide.params),
            )
            assert got.dtype is torch.float32
            np.testing.assert_array_equal(got._array, expected._array)


@pytest.mark.parametrize("name", RECORDS)
def test_arguments_are_left_alone(name):
    op = PRIMITIVES[name]
    for sample in good(name):
        given = tensors(sample)
        op.call(*given, **sample.params)
        for t, a in zip(given, sample.args, strict=True):
            if isinstance(t, Tensor):
                np.testing.assert_array_equal(t._array, a)


REFUSED = [
    (name, k) for name in RECORDS for k, s in enumerate(samples(name)) if s.error is not None
]


@pytest.mark.parametrize(("name", "k"), REFUSED, ids=case_id)
def test_wrong_arguments_are_refused(name, k):
    op, sample = PRIMITIVES[name], samples(name)[k]
    with pytest.raises(sample.error):
        op.call(*tensors(sample), **sample.params)


def test_the_table_is_not_empty():
    assert len(RECORDS) > 130
    assert sum(len(smooth(name)) for name in RECORDS) > 300
    assert len(set(itertools.chain.from_iterable(PRIMITIVES[name].args for name in RECORDS))) > 5
