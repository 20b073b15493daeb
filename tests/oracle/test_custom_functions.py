"""Custom Functions beside PyTorch's: what ctx keeps alive, tangents of what is overwritten or has
none, values that are unpacked twice.
"""

import gc
import weakref

import pytest

import pellucid
import pellucid.utils.checkpoint

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")


def outcome(run):
    try:
        return run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def values(t):
    return None if t is None else (str(t.dtype).partition(".")[2], t.tolist())


@pytest.mark.parametrize("keep", [True, False])
def test_ctx_keeps_its_node(keep):
    def run(m):
        held = []

        class Same(m.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x

            @staticmethod
            def backward(ctx, g):
                held.append(ctx)
                return g

        loss = Same.apply(m.zeros(1, requires_grad=True))
        loss.backward(retain_graph=keep)
        del loss
        [ctx] = held
        return outcome(lambda: list(map(values, ctx.saved_tensors))), len(ctx.next_functions)

    assert run(pellucid) == run(torch)


def test_ctx_and_node_are_freed_without_the_collector():
    held = []

    class Twice(pellucid.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.factor = 2
            held.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.factor == 2
            held.append(ctx)
            return g * ctx.factor

    gc.disable()
    try:
        out = Twice.apply(pellucid.ones(2, requires_grad=True))
        node = weakref.ref(out.grad_fn)
        out.sum().backward(retain_graph=True)
        assert held[0] is held[1]  # as long as somebody holds it
        del out
        assert node() is not None
        held.clear()
        assert node() is None
    finally:
        gc.enable()


def jvps(name):
    return {
        "overwritten": lambda t: t.mul_(2),
        "as it was": lambda t: t,
        "new": lambda t: t * 2,
        "a view": lambda t: t.mul_(2).view(t.shape),
    }[name]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("dual", ["x", "y", "xy"])
@pytest.mark.parametrize("jvp", ["overwritten", "as it was", "new", "a view"])
def test_tangents_of_what_a_function_overwrites(jvp, dual, recorded, several):
    def run(m):
        class Double(m.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                out = x.mul_(2)
                ctx.mark_dirty(out)
                return (out, out * 1) if several else out

            @staticmethod
            def backward(ctx, *grads):
                return grads[0] * 2, None

            @staticmethod
            def jvp(ctx, tx, ty):
                out = jvps(jvp)(tx)
                return (out, tx * 1) if several else out

        forward_ad = m.autograd.forward_ad
        with forward_ad.dual_level():
            x, y = m.ones(3, requires_grad=recorded).clone(), m.ones(3)
            tangent = m.ones(3)
            x = forward_ad.make_dual(x, tangent) if "x" in dual else x
            y = forward_ad.make_dual(y, m.ones(3)) if "y" in dual else y
            out = Double.apply(x, y)
            first = out[0] if several else out
            found = forward_ad.unpack_dual(first).tangent
            return first is x, found is tangent, values(found), values(tangent)

    assert outcome(lambda: run(pellucid)) == outcome(lambda: run(torch))


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("dual", ["x", "y", "z"])
@pytest.mark.parametrize("filled", [True, False])
def test_tangents_that_jvp_gets(filled, dual, split):
    def run(m):
        seen = []
        forward_ad = m.autograd.forward_ad

        class Mixed(m.autograd.Function):
            @staticmethod
            def backward(ctx, *grads):
                return grads[0] * 2, None, None, None, None

            @staticmethod
            def jvp(ctx, *tangents):
                seen.append(list(map(values, tangents)))
                return (m.ones(2) if tangents[0] is None else tangents[0] * 2), None

        def settled(ctx, inputs, output):
            ctx.set_materialize_grads(filled)
            ctx.mark_non_differentiable(output[1])

        if split:

            def forward(x, y, whole, number, z):
                return x * 2, y.clone()

            Mixed.setup_context = staticmethod(settled)
        else:

            def forward(ctx, x, y, whole, number, z):
                out = x * 2, y.clone()
                seen.append(values(forward_ad.unpack_dual(out[0]).tangent))
                settled(ctx, (), out)
                return out

        Mixed.forward = staticmethod(forward)
        with forward_ad.dual_level():

            def given(name, t):
                return forward_ad.make_dual(t, t * 3) if name == dual else t

            out = Mixed.apply(
                given("x", m.ones(2)),
                given("y", m.ones(2, dtype=m.float64)),
                m.tensor([1]),
                7,
                given("z", m.ones(1) * 1j),
            )
            return seen, [values(forward_ad.unpack_dual(t).tangent) for t in out]

    assert run(pellucid) == run(torch)


def test_a_recomputed_value_is_unpacked_once_in_a_backward():
    def run(m):
        seen = []

        class Product(m.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                out = x * y
                ctx.save_for_backward(x, y, out)
                return out

            @staticmethod
            def backward(ctx, g):
                x, y, _ = ctx.saved_tensors
                seen.append(outcome(lambda: ctx.saved_tensors))
                return g * y, g * x

        x, y = m.ones(2, requires_grad=True), m.full((2,), 3.0, requires_grad=True)
        again = m.utils.checkpoint.checkpoint
        out = again(lambda a, b: Product.apply(a * b, b * 2), x, y, use_reentrant=False)
        out.sum().backward(retain_graph=True)
        out.sum().backward()
        return seen, values(x.grad), values(y.grad)

    assert run(pellucid) == run(torch)
