"""Programs in rare states end as in PyTorch: the same values, or the same error.

Each case is a generator function of the library. What it yields is compared, and the error it ends with.
"""

import re

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def plain(value, m):
    """A value as something that can be compared between the two libraries."""
    if isinstance(value, m.Tensor):
        return ["tensor", str(value.dtype).split(".")[-1], np.array(value.detach().float())]
    if isinstance(value, (list, tuple)):
        return [plain(x, m) for x in value]
    return value


def outcome(program, m):
    found = []
    m.manual_seed(0)
    try:
        for value in program(m):
            found.append(plain(value, m))
    except Exception as error:
        # where in the memory an object is differs from run to run
        found.append([type(error).__name__, re.sub("0x[0-9a-f]+", "", str(error))])
    return found


# ---- tangents of views -----------------------------------------------------------------------
def dual_written_through_a_view(m):
    x, t = m.ones(3, 2), m.full((3, 2), 4.0)
    y, s = m.zeros(2), m.full((2,), 7.0)

    def function(a, b):
        view = a[0]
        view.copy_(b)
        return a, view

    yield m.func.jvp(function, (x, y), (t.clone(), s))
    yield x


def dual_written_through_a_view_of_a_batch(m):
    x, t = m.randn(2, 6, 3), m.randn(2, 6, 3)
    y, s = m.randn(2, 3, 3), m.randn(2, 3, 3)

    def function(a, b):
        view, other = a[:, ::2], a[0]
        view.copy_(b)
        other.mul_(b.sum())
        return a, view, other, a * 2

    def tangents(a, b, c, d):
        return m.func.jvp(function, (a, b), (c, d))

    yield m.func.vmap(tangents, in_dims=(2, 1, 2, 1))(x, y, t, s)


def parts_of_a_dual_without_name(m):
    forward = m.autograd.forward_ad
    x, t = m.ones(4), m.arange(4.0)
    with forward.dual_level():
        first, second = (forward.make_dual(x, t.clone())[k:] for k in (0, 0))
        whole = forward.make_dual(x, t.clone())
        part, rest = whole[:3], whole[1:]
        part.mul_(2)
        rest[0] = 5.0
        for each in (whole, part, rest, first, second):
            yield list(forward.unpack_dual(each))
        yield forward.unpack_dual(x).tangent is None
        yield list(forward.unpack_dual(forward.make_dual(x, t)))


def dual_of_a_dual(m):
    def inner(a):
        part = a[1:]
        part.mul_(a[0])
        return a.sum()

    def outer(a):
        b = a * 1
        b[:2].mul_(b[2])
        return m.func.jvp(lambda c: inner(c.clone()) + b.sum(), (b,), (b,))[1]

    yield m.func.jvp(outer, (m.arange(1.0, 4),), (m.ones(3),))


# ---- tensors of inference mode inside transforms ---------------------------------------------
def captured_from_inference_mode(m):
    with m.inference_mode():
        k = m.arange(1.0, 4)
    x = m.ones(3)
    yield m.func.grad(lambda t: (t * t * k).sum())(x)
    yield m.func.grad(lambda t: (t * t * k).sum())(k)
    yield m.func.grad(lambda t: (t * 1).mul_(k).sum())(k)
    yield m.func.vjp(lambda t: (k[1:] * t[1:] * t[1:]).sum(), k)[1](m.tensor(1.0))
    yield m.func.jacrev(lambda t: t * t * k)(x)
    yield m.func.jacfwd(lambda t: t * t * k)(k)
    yield m.func.hessian(lambda t: (k * t * t * t).sum())(k)
    yield m.func.vmap(m.func.grad(lambda t: t * t * k[1]))(k)
    layer = m.nn.Linear(3, 1)
    values = {name: m.ones_like(p) for name, p in layer.named_parameters()}
    yield m.func.grad(lambda p: m.func.functional_call(layer, p, (k,)).sum())(values)["weight"]


def saved_for_the_graph_around(m):
    with m.inference_mode():
        k = m.arange(1.0, 4)
    w = m.ones(3, requires_grad=True)
    with m.no_grad():
        yield m.func.grad(lambda t: (t * t * k).sum())(w)
    yield m.func.grad(lambda t: (t * t * k).sum())(w)


# ---- other memory ----------------------------------------------------------------------------
def saved_and_set(m):
    a = m.ones(3, requires_grad=True)
    b = a * 1
    y = b * b
    with m.no_grad():
        b.set_(m.zeros(3))
    yield b._version
    y.sum().backward()


def constant_saved_and_set(m):
    a, c = m.ones(3, requires_grad=True), m.ones(3)
    c.add_(1)
    y = a * c
    c.set_(m.zeros(3))
    yield c._version
    y.sum().backward()


def leaf_saved_and_set(m):
    a = m.ones(3, requires_grad=True)
    y = a.sin()
    with m.no_grad():
        a.set_(m.zeros(3))
    yield a
    y.sum().backward()


# ---- hooks on modules inside transforms ------------------------------------------------------
def watched_module_that_is_mapped(m):
    layer, log = m.nn.Linear(3, 2), []
    layer.register_full_backward_hook(lambda mod, gi, go: log.append("full") or (gi[0] * 2,))
    layer.register_full_backward_pre_hook(lambda mod, go: log.append("before"))
    x = m.randn(4, 3, requires_grad=True)
    y = m.func.vmap(layer)(x)
    yield y._is_view()
    y.mul_(2)
    y.sum().backward()
    yield x.grad, log
    layer(x).sum().backward()
    yield x.grad, log
    yield [t.shape for t in m.func.jvp(layer, (x,), (x,))]
    yield m.func.jacfwd(layer)(x[0])
    yield m.func.vmap(m.func.grad(lambda t: layer(t).sum()))(x)


def watched_module_that_is_differentiated(m):
    layer = m.nn.Linear(3, 2)
    layer.register_full_backward_hook(lambda mod, gi, go: None)
    yield m.func.jacrev(layer)(m.ones(3))


def old_hook_on_a_module_that_is_mapped(m):
    layer, log = m.nn.Linear(3, 2), []
    layer.register_backward_hook(lambda mod, gi, go: log.append(len(gi)))
    m.func.vmap(layer)(m.ones(4, 3)).sum().backward()
    yield log
    m.func.vmap(m.func.grad(lambda t: layer(t).sum()))(m.ones(4, 3))
    yield log


def requires_grad_set_on_samples(m):
    def function(t):
        t.requires_grad = True
        return t * 2

    x = m.ones(3)
    yield m.func.vmap(function)(x).requires_grad, x.requires_grad


def data_of_inference_tensors(m):
    with m.inference_mode():
        k = m.ones(3)
    d = k.data
    yield d.is_inference(), d._version
    d.add_(1)
    yield k
    k.add_(1)


# ---- autocast --------------------------------------------------------------------------------
def pseudo_inverses_under_autocast(m):
    a = m.randn(4, 3)
    for kind in (m.bfloat16, m.float16):
        with m.autocast("cpu", dtype=kind):
            yield m.linalg.pinv(a).dtype == kind
            yield m.linalg.pinv((a.T @ a).float(), hermitian=True).dtype == kind
            yield m.linalg.pinv(a.double()).dtype == m.float64
            yield m.pinverse(a).dtype == m.float32


CASES = [value for value in dict(globals()).values() if getattr(value, "__code__", None)]
CASES = [case for case in CASES if case.__code__.co_flags & 0x20]  # the generator functions


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_same_outcome(program):
    expected, found = outcome(program, torch), outcome(program, pellucid)
    np.testing.assert_equal(found, expected, verbose=True)
