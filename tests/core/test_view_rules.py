"""Which views may be written to, what backward calls at its end, and what saved tensors bear."""

import gc

import pytest

import pellucid as torch
from pellucid.autograd import forward_ad


class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1], x[1:]

    @staticmethod
    def backward(ctx, g, h):
        return torch.cat([g, h])


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def test_a_view_wants_a_gradient_when_its_base_does():
    a = torch.zeros(3)
    b = a[:]
    a.requires_grad_()
    assert b.requires_grad and b.is_leaf
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        b.add_(1)
    with torch.no_grad():
        c = a[1:]
    assert c.requires_grad and c.is_leaf and c._base is a
    (c * 2).sum().backward()
    assert c.grad is None and a.grad is None  # test_views_without_grad.py has the rest


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (torch.no_grad, "no_grad mode and is being modified inplace with grad mode enabled"),
        (torch.inference_mode, "inference mode"),
    ],
)
def test_views_made_while_nothing_is_recorded(mode, text):
    a = torch.ones(3)
    with mode():
        b = a[:]
    assert not b.is_inference()
    b.mul_(2)
    with pytest.raises(RuntimeError, match=f"A view was created in {text}"):
        b.mul_(leaf(3))
    b.requires_grad_()
    with pytest.raises(
        RuntimeError, match=f"Output 0 of View is a view of a view which was created in {text}"
    ):
        b.view(3).mul_(2)


@pytest.mark.parametrize("function", [View, Same])
def test_results_of_a_function_that_are_views(function):
    a = torch.ones(2)
    out = function.apply(a)
    assert out._is_view() and out._base is a
    out.add_(1)
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        out.add_(leaf(2))
    out = function.apply(leaf(2).clone())
    with pytest.raises(
        RuntimeError,
        match=f"Output 0 of {function.__name__} is a view and is being modified inplace",
    ):
        out.add_(1)
    with torch.no_grad():
        assert function.apply(leaf(2)).requires_grad


def test_several_views_of_a_function():
    with pytest.raises(
        RuntimeError, match="Output 1 of Halves is a view .* returns multiple views"
    ):
        Halves.apply(leaf(2))[1].mul_(2)


def test_views_of_inference_tensors_are_none():
    with torch.inference_mode():
        c = torch.ones(2, 3, requires_grad=True)
        c.resize_(1, 2)
        plain = torch.zeros(2)
    out = c.view(-1)
    assert out.is_inference() and not out.requires_grad and not out._is_view()
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        torch.mul(torch.ones(2), torch.ones(2), out=plain)


def test_marked_dirty():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            c = a * 3
            ctx.mark_dirty(c)
            return c

        @staticmethod
        def backward(ctx, g):
            return g * 3

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        y = Bad.apply(leaf(2))
    assert y.tolist() == [3, 3]

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            a.add_(1)
            ctx.mark_dirty(a)
            return a, a * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h

    with pytest.raises(
        RuntimeError,
        match="your Function modifies inplace an input that is a view of another Tensor",
    ):
        Two.apply(leaf(2).clone()[:])


def test_callbacks_run_at_the_end_of_their_backward():
    seen = []
    queue = torch.autograd.Variable._execution_engine.queue_callback

    def first():
        seen.append("first")
        queue(lambda: seen.append("second"))

    class Queue(Same):
        @staticmethod
        def backward(ctx, g):
            queue(first)
            seen.append("backward")
            return g

    for create_graph in (False, True):
        seen.clear()
        Queue.apply(leaf(3)).sum().backward(create_graph=create_graph)
        assert seen == ["backward", "first", "second"]
    with pytest.raises(
        RuntimeError, match="Final callbacks can only be installed during backward pass"
    ):
        queue(first)


def test_saved_tensors_may_be_overwritten_where_it_is_allowed():
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = leaf(2)
        b = a.clone()
        squares = b**2
        b[:1].mul_(10)
        squares.sum().backward()
        del squares
        gc.collect()
        assert a.grad.tolist() == [2, 2]

        x, y = leaf(1), torch.ones(1)
        out = x * y
        assert len(context.tid_to_weakhandle) == 1
        torch.sin(torch.tensor([2.0]), out=y)
        assert len(context.cloned) == 1
        out.backward()
        assert x.grad.tolist() == [1] and len(context.cloned) == 0
        kept = (leaf(2) ** 2).sum()
        with (
            pytest.raises(RuntimeError, match="contexts cannot be nested"),
            torch.autograd.graph.allow_mutation_on_saved_tensors(),
        ):
            pass
    with pytest.raises(
        AssertionError,
        match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context",
    ):
        kept.backward()


def test_several_tensors_saved_under_hooks():
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: seen.append(tuple(t.shape)) or t, lambda t: t
    ):
        y = torch.einsum("i,i->", leaf(3), leaf(3)) + torch.logsumexp(leaf(2), 0)
    y.backward()
    assert (2,) in seen


def test_retained_gradients_follow_writes_through_views():
    base = leaf(1).clone()
    one, other = base[:], base[:]
    one.retain_grad()
    other.retain_grad()
    one.mul_(2)
    (one + other).sum().backward()
    assert one.grad.tolist() == other.grad.tolist() == [1]


def test_what_cannot_be_deleted():
    x = leaf(2)
    for name, text in [
        ("data", "Deleting tensor data"),
        ("requires_grad", "must be a bool"),
        ("_grad_fn", "Deletion of _grad_fn"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            delattr(x, name)
    with pytest.raises(RuntimeError, match="Deletion of _backwards_hooks"):
        del x._backward_hooks
    x.register_hook(lambda g: g)
    assert len(x._backward_hooks) == 1
    x._backward_hooks = None
    assert x._backward_hooks is None
    x._backward_hooks = {}
    assert x._backward_hooks == {}


def test_forward_mode_refuses_sizes_and_out():
    with forward_ad.dual_level():
        with pytest.raises(
            RuntimeError,
            match=r"different size than .* of size \[2\] while the given forward gradient is of size \[3\]",
        ):
            forward_ad.make_dual(torch.ones(2), torch.ones(3))
        dual, plain = forward_ad.make_dual(torch.ones(2), torch.ones(2)), torch.ones(2)
        for a, out in ((plain, dual), (dual, torch.ones(2))):
            with pytest.raises(
                NotImplementedError,
                match="forward AD with add_out that does not support it because it is an out= function",
            ):
                torch.add(a, plain, out=out)


def test_one_node_for_a_spread_and_its_mean():
    x = leaf(3, 3)
    var, mean = torch.var_mean(x, dim=0)
    assert var.grad_fn is mean.grad_fn and var.grad_fn.name() == "VarMeanBackward0"
    seen = []
    mean.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    (var + mean).sum().backward()
    assert seen == [2]
    assert torch.std_mean(x)[0].grad_fn.name() == "StdMeanBackward0"
    var, mean = torch.var_mean(x)  # which may be overwritten
    var.mul_(2)
    mean.mul_(2)
    (var + mean).backward()


def test_a_number_to_complex_powers():
    z = torch.tensor([0.5 + 0.25j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: torch.pow(-1, z), z)


def test_resizing_counts_as_a_write():
    x = torch.zeros(1)
    assert x.resize_(1, 2)._version == 1
    assert x.resize_as_(torch.zeros(3))._version == 2
    assert x.resize_(3)._version == 2


def test_decorated_classes_are_deprecated():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Recorded:
            def __init__(self):
                self.recorded = torch.is_grad_enabled()

    assert not Recorded().recorded


def bits_of(p):
    return p.view(torch.int32)


@pytest.mark.parametrize(
    "made", ["recorded", "not recorded", "before", "part", "parts", "and back"]
)
def test_views_through_an_integer_dtype_are_apart_from_the_graph(made):
    p = torch.ones(4, requires_grad=made != "before")
    if made == "not recorded":
        with torch.no_grad():
            bits = bits_of(p)
    else:
        bits = bits_of(p)
    view = {
        "part": lambda: bits[1:],
        "parts": lambda: bits.unbind(0)[3],
        "and back": lambda: bits.view(torch.float32),
    }.get(made, lambda: bits)()
    p.requires_grad_()
    assert not view.requires_grad and view.grad_fn is None
    view.mul_(0)
    view.zero_()
    assert p[-1] == 0 and p.is_leaf and p._version == 2


def test_a_graded_write_through_the_bits_stays_apart():
    p, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    view = bits_of(p).view(torch.float32)
    view.mul_(w * 3)
    view.sum().backward()
    assert (
        p.is_leaf and p.grad is None and w.grad.tolist() == [3.0, 3.0] and p.tolist() == [3.0, 3.0]
    )
    whole = torch.zeros(2, dtype=torch.int32)
    whole.view(torch.float32).add_(w)
    assert not whole.requires_grad


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("draw", ["bernoulli_", "uniform_", "normal_", "exponential_", "random_"])
def test_a_draw_into_an_expanded_tensor_is_refused_before_it_is_drawn(draw, compiled):
    def step(x):
        return getattr(x, draw)()

    run = torch.compile(step) if compiled else step
    torch.manual_seed(3)
    state = torch.get_rng_state()
    for _ in range(2):
        with pytest.raises(
            RuntimeError,
            match="more than one element of the written-to tensor refers to a single memory location",
        ):
            run(torch.zeros(1).expand(3))
    assert torch.equal(torch.get_rng_state(), state)
