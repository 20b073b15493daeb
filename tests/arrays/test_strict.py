"""Every operation that has samples runs, forward and backward, on arrays that are not NumPy's: seam
1 holds.

What must compute on the host says so in its record (`host`), and its arrays go there and back by
name.
"""

import functools
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid import config
from pellucid.arrays import numpy_cpu
from pellucid.core.primitive import PRIMITIVES, RAW, RawNamespace
from pellucid.kernels.indexing import embedding
from pellucid.ops import typing_info  # noqa: F401  (all operations are recorded)

from ..ops.test_table import wanted_places
from . import strict
from .strict import Mixed, StrictArray, from_host, namespace, to_host

F = RawNamespace(namespace)
NAMES = sorted(name for name, op in PRIMITIVES.items() if op.samples is not None)


@functools.cache
def samples(name):
    """(arguments, parameters, what the host makes of them, what only the gradient rules see) for
    each sample that is no error.
    """
    op, made = PRIMITIVES[name], []
    for sample in op.samples(np.random.default_rng(zlib.crc32(name.encode()))):
        if sample.error is None:
            args = [np.asarray(a) if isinstance(a, np.generic) else a for a in sample.args]
            # what a kernel keeps for backward is for kernels, and its sums have another order
            with config.override(kernels=False):
                result = op.run_forward(numpy_cpu, args, dict(sample.params))
            result, aux = result if op.aux else (result, None)
            made.append(
                (
                    sample,
                    args,
                    [
                        np.asarray(r)
                        for r in (result if isinstance(result, (tuple, list)) else (result,))
                    ],
                    aux,
                )
            )
    return made


def device(value):
    return from_host(value) if isinstance(value, (np.ndarray, np.generic, tuple, list)) else value


def on_device(params):
    """Parameters that are arrays (labels, masks) lie where the operands do."""
    return {
        key: device(value) if isinstance(value, np.ndarray) else value
        for key, value in params.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_forward(name):
    op = PRIMITIVES[name]
    for sample, args, expected, _ in samples(name):
        before = dict(strict.transfers)
        with config.override(kernels=False):
            result = op.run_forward(namespace, [device(a) for a in args], on_device(sample.params))
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
        "shape": lambda i: () if args[i] is None else args[i].shape,
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
        given = [
            rng.standard_normal(r.shape).astype(r.dtype)
            if r.dtype.kind in "fc"
            else np.zeros_like(r)
            for r in results
        ]
        g = given[0] if op.outputs == 1 else tuple(given)
        plan = op.plan(needs)
        expected = plan.backward(
            RAW, g, saved(plan.entries, args, results, aux), dict(sample.params)
        )
        strictly = saved(
            plan.entries, [device(a) for a in args], [device(r) for r in results], device(aux)
        )
        got = plan.backward(F, device(g), strictly, on_device(sample.params))
        tried += 1
        for a, b in zip(got, expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert isinstance(a, StrictArray)
                # the host has kernels of its own, a few ulp away
                np.testing.assert_allclose(to_host(a), b, rtol=1e-14, atol=0)
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


def test_the_examples_run_forward_and_backward_on_strict_arrays():
    command = [sys.executable, "-W", "error", "-m", "tests.arrays.strict_examples"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    names = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.py"))
    assert [line.split()[0] for line in done.stdout.splitlines()] == names


class Impostor:
    """It has what kernels ask of an array, and no memory where an array has it."""

    dtype, shape, ndim, size, flags = np.dtype(np.int64), (3,), 1, 3, np.zeros(3).flags


def test_native_functions_refuse_what_is_no_array():
    rows = np.ones((3, 2), np.float32)
    if embedding.native("inside") is None:
        pytest.skip("no native code here")
    with pytest.raises(TypeError, match="takes NumPy arrays and None"):
        embedding.scatter_add_rows(rows, Impostor(), 2)
    np.testing.assert_array_equal(
        embedding.scatter_add_rows(rows, np.array([0, 1, 1]), 2), [[1, 1], [2, 2]]
    )


def test_arrays_of_two_devices_do_not_meet(monkeypatch):
    monkeypatch.setitem(numpy_cpu.NAMESPACES, "privateuseone", namespace)
    x = torch.ones(3, requires_grad=True)
    y = x.to("privateuseone")
    assert y.device == torch.device("privateuseone", 0) and type(y._array) is StrictArray
    with pytest.raises(RuntimeError, match="at least two devices, privateuseone:0 and cpu!"):
        y + torch.ones(3)
    (y * torch.tensor(2.0) * 3).sum().backward()  # single numbers of the host may meet it
    assert x.grad.tolist() == [6, 6, 6] and x.grad.device.type == "cpu"
    with pytest.raises(
        TypeError,
        match=r"can't convert privateuseone:0 device type tensor to numpy. Use Tensor.cpu\(\)",
    ):
        y.detach().numpy()
    assert y.cpu().tolist() == y.tolist() == [1, 1, 1]
