"""Every operation of the table with samples, compiled: its results and gradients are eager's, on
values other than the traced ones.
"""

import warnings
import zlib

import numpy as np
import pytest

import pellucid as torch
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Tensor, make_tensor

# Only a recorded gradient calls `linked`, and says afterwards that the result is no view.
RECORDS = sorted(n for n, op in PRIMITIVES.items() if op.samples is not None and n != "linked")
# Operations whose result's shape depends on values, or that ask for values while they run.
REFUSED = {
    "masked_select": "depends on values",
    "as_strided": "in its storage",
    "as_strided_grad": "in its storage",
}
PER_RECORD = 4


def shaken(a, rng):
    """Other values of the same kind: floats moved a little, everything put in another order along
    the first axis.
    """
    if not isinstance(a, np.ndarray):
        return a
    if a.dtype.kind in "fc" and a.size:
        return np.asarray(a * (1 + 0.01 * rng.standard_normal(a.shape)), a.dtype)
    return a.copy()


def wanted(op, sample, as_single):
    flags = []
    for i, a in enumerate(sample.args):
        good = (
            isinstance(a, np.ndarray)
            and as_single(a).dtype.kind in "fc"
            and op.vjp is not None
            and i not in sample.constant
        )
        flags.append(good and (callable(op.vjp) or op.args[min(i, len(op.args) - 1)] in op.vjp))
    return flags


def single(a):
    return a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a


def make(sample, flags, cast, rng=None):
    out = []
    for a, flag in zip(sample.args, flags, strict=True):
        if isinstance(a, np.ndarray):
            t = make_tensor(cast(a if rng is None else shaken(a, rng)).copy())
            t.requires_grad = flag
            out.append(t)
        else:
            out.append(a)
    return out


def results(f, args, flags):
    """Values, and the gradients of a weighted sum of the floating-point ones."""
    made = f(*args)
    outs = [
        o for o in (made if isinstance(made, (tuple, list)) else [made]) if isinstance(o, Tensor)
    ]
    grads = []
    roots = [o for o in outs if o.requires_grad]
    if roots:
        weights = [
            make_tensor(
                np.asarray(np.cos(np.arange(o._array.size)).reshape(o._array.shape), o._array.dtype)
            )
            for o in roots
        ]
        leaves = [a for a, flag in zip(args, flags, strict=True) if flag]
        grads = torch.autograd.grad(roots, leaves, weights, allow_unused=True)
    return outs, grads


@pytest.mark.parametrize("name", RECORDS)
def test_compiled_is_eager(name):
    op = PRIMITIVES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    samples = [s for s in op.samples(rng) if s.error is None][:PER_RECORD]
    # Arrays among the parameters are made by the public function from its arguments; a step does
    # not find them in a closure.
    samples = [s for s in samples if not any(isinstance(v, np.ndarray) for v in s.params.values())]
    for cast in (single, lambda a: a):
        for sample in samples[: PER_RECORD if cast is single else 2]:
            flags = wanted(op, sample, cast)

            def f(*args, sample=sample):
                return op.call(*args, **sample.params)

            compiled = torch.compile(f)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "error" if name not in REFUSED else "ignore", torch.compiler.CompileWarning
                )
                results(compiled, make(sample, flags, cast), flags)
                seed = int(rng.integers(1 << 30))
                a = make(sample, flags, cast, np.random.default_rng(seed))
                b = make(sample, flags, cast, np.random.default_rng(seed))
                try:
                    expected = results(f, a, flags)
                except Exception as error:
                    with pytest.raises(type(error)):
                        results(compiled, b, flags)
                    continue
                got = results(compiled, b, flags)
            if name in REFUSED:
                assert REFUSED[name] in " ".join(compiled.history)
            else:
                assert sum(v.hits for v in compiled.versions) == 1, (compiled.history, sample)
            for x, y in zip((*expected[0], *expected[1]), (*got[0], *got[1]), strict=True):
                if x is None or y is None:
                    assert y is None or not y._array.any()
                    continue
                assert x.dtype is y.dtype and x.shape == y.shape
                scale = {"float32": 2e-5, "complex64": 2e-5, "float16": 2e-2, "bfloat16": 5e-2}.get(
                    x._array.dtype.name, 1e-11
                )
                np.testing.assert_allclose(
                    y._array.astype(complex)
                    if x._array.dtype.kind == "c"
                    else y._array.astype(float),
                    x._array.astype(complex)
                    if x._array.dtype.kind == "c"
                    else x._array.astype(float),
                    rtol=scale,
                    atol=scale,
                    err_msg=f"{name} {sample}",
                )
