"""Every operation that has samples runs, forward and backward, on arrays that are not NumPy's: seam 1 holds.

What must compute on the host says so in its record (`host`), and its arrays go there and back by name.
"""

import functools
import zlib

import numpy as np
import pytest

from pellucid.backends import numpy_cpu
from pellucid.core.primitive import PRIMITIVES, RAW, RawNamespace
from pellucid.ops import typing_info  # noqa: F401  (all operations are recorded)

from ..ops.test_table import wanted_places
from . import strict
from .strict import Mixed, StrictArray, from_host, namespace, to_host

F = RawNamespace(namespace)
NAMES = sorted(name for name, op in PRIMITIVES.items() if op.samples is not None)


@functools.cache
def samples(name):
    """(arguments, parameters, what the host makes of them, what only the gradient rules see) for each sample that is no error."""
    op, made = PRIMITIVES[name], []
    for sample in op.samples(np.random.default_rng(zlib.crc32(name.encode()))):
        if sample.error is None:
            args = [np.asarray(a) if isinstance(a, np.generic) else a for a in sample.args]
            result = op.run_forward(numpy_cpu, args, dict(sample.params))
            result, aux = result if op.aux else (result, None)
            made.append((sample, args, [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else (result,))], aux))
    return made


def device(value):
    return from_host(value) if isinstance(value, (np.ndarray, np.generic, tuple, list)) else value


@pytest.mark.parametrize("name", NAMES)
def test_forward(name):
    op = PRIMITIVES[name]
    for sample, args, expected, _ in samples(name):
        before = dict(strict.transfers)
        result = op.run_forward(namespace, [device(a) for a in args], dict(sample.params))
        result = result[0] if op.aux else result
        result = result if isinstance(result, (tuple, list)) else (result,)
        assert all(isinstance(r, (StrictArray, bool)) for r in result)
        assert op.host or strict.transfers["to_host"] == before["to_host"], "values left the device"
        for got, want in zip(result, expected, strict=True):
            np.testing.assert_array_equal(to_host(got), want)


def saved(entries, args, results, aux):
    """The saved values that a plan asks for."""
    pick = {
        "in": lambda i: args[i],
        "ins": lambda i: tuple(args[i:]),
        "out": lambda i: results[i],
        "outs": lambda i: tuple(results),
        "shape": lambda i: args[i].shape,
        "dtype": lambda i: args[i].dtype,
        "shapes": lambda i: tuple(a.shape for a in args[i:]),
        "out_shape": lambda i: results[0].shape,
        "out_dtype": lambda i: results[0].dtype,
        "aux": lambda i: aux,
    }
    return [pick[kind](i) for kind, i in entries]


@pytest.mark.parametrize("name", [name for name in NAMES if PRIMITIVES[name].vjp is not None])
def test_gradients(name):
    op, tried = PRIMITIVES[name], 0
    for sample, args, results, aux in samples(name):
        needs = tuple(wanted_places(op, sample._replace(args=tuple(args))))
        if not any(needs):
            continue
        rng = np.random.default_rng(0)
        given = [rng.standard_normal(r.shape).astype(r.dtype) if r.dtype.kind in "fc" else np.zeros_like(r) for r in results]
        g = given[0] if op.outputs == 1 else tuple(given)
        plan = op.plan(needs)
        expected = plan.backward(RAW, g, saved(plan.entries, args, results, aux), dict(sample.params))
        strictly = saved(plan.entries, [device(a) for a in args], [device(r) for r in results], device(aux))
        got = plan.backward(F, device(g), strictly, dict(sample.params))
        tried += 1
        for a, b in zip(got, expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert isinstance(a, StrictArray)
                np.testing.assert_array_equal(to_host(a), b)
    assert tried or name == "heaviside"  # whose samples have no place with a derivative


def test_strict_arrays_are_strict():
    x = from_host(np.arange(6.0).reshape(2, 3))
    for mistake in (
        lambda: np.asarray(x),
        lambda: np.sin(x),
        lambda: np.concatenate([x, x]),
        lambda: x + np.ones(3),
        lambda: np.ones(3) + x,
        lambda: x[np.array([0])],
        lambda: float(x[0, 0]),
        lambda: list(x),
        lambda: namespace.add(x, np.ones(3)),
        lambda: namespace.concatenate([x, np.ones((1, 3))]),
    ):
        with pytest.raises(Mixed):
            mistake()
    assert isinstance(namespace.sin(x), StrictArray)
    np.testing.assert_array_equal(to_host(namespace.add.reduce(x, 0)), [3, 5, 7])
