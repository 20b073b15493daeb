"""The harness of these tests: arguments that are others for each seed, what a call leaves behind,
and whether two of that are the same.

A test makes twice what it is about, runs one of them eagerly and the other compiled, and compares
everything that can be seen.
"""

import collections
import math

import numpy as np

import pellucid as torch


# ---- arguments: functions from a generator to a tensor --------------------------------------------------------
def floats(*shape, low=-2.0, high=2.0, dtype=torch.float32):
    return lambda g: (
        torch.rand(shape, generator=g, dtype=dtype) * (high - low) + low
    ).requires_grad_()


def whole(high, *shape, low=0, dtype=torch.int64):
    return lambda g: torch.randint(low, high, shape, generator=g, dtype=dtype)


def mask(*shape):
    return lambda g: torch.rand(shape, generator=g) > 0.5


def distinct(n, k):
    return lambda g: torch.randperm(n, generator=g)[:k]


# ---- what a call leaves behind --------------------------------------------------------------------------------
def outcome(function, args):
    """What a call gives or raises, and what it leaves in its arguments: values, counters of writes,
    gradients.
    """
    try:
        result = function(*args)
    except Exception as error:
        result = type(error).__name__, str(error).splitlines()[0]
    return (
        result,
        [a.detach().clone() for a in args],
        [a._version for a in args],
        [a.grad for a in args],
    )


def with_gradients(f, args):
    """Results, and the gradients of a weighted sum of them."""
    torch.manual_seed(3)
    made = f(*args)
    made = list(made) if isinstance(made, tuple) else [made]
    roots = [o for o in made if o.requires_grad]
    leaves = [a for a in args if a.requires_grad]
    weights = [
        torch.arange(1.0, o.numel() + 1, dtype=o.dtype).reshape(o.shape).cos() for o in roots
    ]
    return [
        *made,
        *(torch.autograd.grad(roots, leaves, weights, allow_unused=True) if roots else ()),
    ]


# ---- whether two of that are the same -------------------------------------------------------------------------
def same(a, b, rtol=1e-4, atol=1e-5, strides=False, path=()):
    """Assert equal types, lengths, keys in equal order, and values to rounding; `path` says where,
    when they are not.
    """
    inner = {"rtol": rtol, "atol": atol, "strides": strides}
    assert type(a) is type(b), (path, a, b)
    if isinstance(a, torch.Tensor):
        assert (a.shape, a.dtype, a.requires_grad) == (b.shape, b.dtype, b.requires_grad), (
            path,
            a,
            b,
        )
        assert not strides or a.stride() == b.stride(), path
        torch.testing.assert_close(
            b.detach(),
            a.detach(),
            rtol=rtol,
            atol=atol,
            equal_nan=True,
            msg=lambda text: f"{path}: {text}",
        )
    elif isinstance(a, np.ndarray):
        assert a.shape == b.shape, (path, a, b)
        np.testing.assert_allclose(b, a, rtol, atol, err_msg=str(path))
    elif isinstance(a, dict):
        assert [str(k) for k in a] == [str(k) for k in b], (path, a, b)
        for (k, v), w in zip(a.items(), b.values(), strict=True):
            same(v, w, **inner, path=(*path, k))
    elif isinstance(a, (list, tuple, collections.deque)):
        assert len(a) == len(b), (path, a, b)
        for k, (v, w) in enumerate(zip(a, b, strict=True)):
            same(v, w, **inner, path=(*path, k))
    elif isinstance(a, float):
        assert math.isclose(a, b, rel_tol=rtol, abs_tol=atol) or a != a and b != b, (path, a, b)
    else:
        assert a == b, (path, a, b)
