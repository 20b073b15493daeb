"""The engine's own promises: deep and wide graphs in linear time and without recursion, memory
freed with the last reference.
"""

import gc
import weakref

import numpy as np
import pytest

import pellucid as torch
from pellucid.core import reverse
from pellucid.errors import full_text


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


def test_a_million_operations_in_a_row():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_many_uses_of_one_tensor():
    x = torch.ones((), dtype=torch.float64, requires_grad=True)
    parts = [x * k for k in range(20_000)]
    torch.stack(parts).sum().backward()
    assert x.grad.item() == float(sum(range(20_000)))


def test_a_ladder_is_walked_once():
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y  # 2**60 paths
    y.backward()
    assert x.grad.item() == 2.0**60


def arrays_freed(make):
    """Whether the array of an intermediate tensor is freed when the last reference to the result
    goes.
    """
    x = torch.ones(1000, requires_grad=True)
    middle = make(x)
    alive = weakref.ref(middle._array)
    result = (middle * middle).sum()
    del middle
    assert alive() is not None
    return x, result, alive


def test_memory_goes_with_the_last_reference():
    _, result, alive = arrays_freed(torch.exp)
    del result
    assert alive() is None


def test_memory_goes_with_backward():
    x, result, alive = arrays_freed(torch.exp)
    result.backward()
    assert alive() is None
    assert x.grad is not None


def test_no_cycles_through_hooks_functions_and_errors():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    x = torch.ones(10, requires_grad=True)
    y = Double.apply(x * 2)
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    alive = weakref.ref(y)
    node = weakref.ref(y.grad_fn)
    y.sum().backward()
    del y
    assert alive() is None
    assert node() is None


def test_no_cycles_in_views_and_writes():
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    part = y[1:3]
    part.mul_(2)
    y[0] = 5.0
    refs = [weakref.ref(t) for t in (y, part)]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0, 1.0]
    del y, part
    assert [r() for r in refs] == [None, None]


def test_no_cycles_after_double_backward():
    x = torch.ones(5, dtype=torch.float64, requires_grad=True)
    y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    refs = [weakref.ref(t) for t in (y, g, h)]
    assert h.tolist() == [6.0] * 5
    del y, g, h
    assert [r() for r in refs] == [None] * 3


def test_gradients_are_nobody_elses_memory():
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(3, requires_grad=True)
    seed = torch.ones(3)
    (x + w).backward(seed)
    x.grad.add_(1)
    assert w.grad.tolist() == seed.tolist() == [1.0, 1.0, 1.0]
    (x + w).backward(seed)
    assert seed.tolist() == [1.0, 1.0, 1.0]
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_writes_are_noticed_and_explained():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = y * 2
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as info:
        z.sum().backward()
    assert "add_" in full_text(info.value)
    assert "test_reverse.py" in full_text(info.value)


def test_a_freed_graph_is_named():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(
        RuntimeError, match="Trying to backward through the graph a second time"
    ) as info:
        y.backward()
    assert "test_reverse.py" in full_text(info.value)


def test_views_and_bases_follow_writes():
    x = torch.arange(6.0, dtype=torch.float64).requires_grad_()
    base = x * 1
    a, b = base[:4], base[2:]
    a.mul_(3)
    b.pow_(2)
    loss = (base * base).sum() + a.sum() + b.sum()
    (g,) = torch.autograd.grad(loss, x)
    v = np.arange(6.0)
    wanted = np.zeros(6)
    wanted[:2] = 2 * 9 * v[:2] + 3
    wanted[2:4] = 4 * 81 * v[2:4] ** 3 + 2 * 2 * 9 * v[2:4]
    wanted[4:] = 4 * v[4:] ** 3 + 2 * v[4:]
    np.testing.assert_allclose(g.numpy(), wanted)


def test_inference_tensors_stay_out_of_the_graph():
    with torch.inference_mode():
        x = torch.ones(2)
        y = x * 2
        y.add_(1)
    assert y.tolist() == [3.0, 3.0]
    assert (torch.ones(2, requires_grad=True) + y).requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        _ = torch.ones(2, requires_grad=True) * y
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = y._version


def test_whole_numbers_need_no_gradient():
    x = torch.ones(2, requires_grad=True)
    assert not x.long().requires_grad
    assert not (x > 0).requires_grad
    assert not x.argmax().requires_grad


def test_sums_of_gradients_leave_what_others_hold_alone():
    """From the third addend on a sum is made in place: only in memory that nobody else can see."""
    seen = []
    x = torch.ones(3, requires_grad=True)
    y = x * 1.0
    parts = [y * float(k) for k in range(1, 5)]
    for part in parts:
        part.register_hook(lambda g: seen.append((g, g.clone())))
    sum(parts).sum().backward()
    assert x.grad.tolist() == [10.0] * 3
    assert len(seen) == 4 and all(torch.equal(g, copy) for g, copy in seen)
    seed = torch.full((3,), 2.0)
    x.grad = None
    (x + x + x + x).backward(seed)  # the same array reaches the leaf four times
    assert x.grad.tolist() == [8.0] * 3 and seed.tolist() == [2.0] * 3
    number = torch.tensor(3.0, requires_grad=True)
    (number * number * number + number).backward()
    assert number.grad.item() == 28.0


def test_a_summed_gradient_becomes_the_leaf_s_own(monkeypatch):
    """No copy of a weight's gradient that was added up over several uses."""
    w = torch.ones(64, 64, requires_grad=True)
    x = torch.ones(64, 64)
    places = []
    original = reverse._sum

    def noted(*given):
        made = original(*given)
        places.append(id(made))
        return made

    monkeypatch.setattr(reverse, "_sum", noted)
    (x @ w).sum().add((x @ w).sum()).add((x @ w).sum()).backward()
    assert places == [id(w.grad._array)] * 2  # the second was added to the first, where it lies
    assert w.grad.unique().tolist() == [192.0]


def test_saved_tensor_hooks_leave_no_trace(monkeypatch):
    """Only nodes whose saved values were packed go the long way; graphs recorded later do not."""
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        packed = (x * x).sum()
    packed.backward()
    assert x.grad.tolist() == [4.0] * 3
    monkeypatch.setattr(
        reverse.BackwardPass, "step", lambda self, node, g: pytest.fail("not the short way")
    )
    (x * x).sum().backward()
    assert x.grad.tolist() == [6.0] * 3


def test_anomaly_mode_keeps_the_stack_of_the_forward_call():
    x = torch.full((2,), -1.0, requires_grad=True)
    with torch.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match="SqrtBackward0") as caught:
            x.sqrt().sum().backward()
        y = x * 2
    assert "the forward call's stack" in "".join(caught.value.__notes__)
    assert (x * 2).grad_fn.ext is None and y.grad_fn.ext is not None
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_anomaly_mode_warns_of_an_infinity_once_and_goes_on():
    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.detect_anomaly():
        with pytest.warns(
            UserWarning, match="'SqrtBackward0' returned inf values in its 0th"
        ) as caught:
            (x.sqrt() * 2).exp().sum().backward()
        assert len(caught) == 1 and caught[0].filename == __file__
        x.sqrt().sum().backward()
    assert x.grad.item() == float("inf")


def test_a_gradient_is_taken_over_without_a_copy(monkeypatch):
    """The array that a rule made becomes `.grad` itself; what somebody holds, or sees a part of, is
    copied.
    """
    made = []
    plan = (torch.ones(8, 8) @ torch.ones(8, 8, requires_grad=True)).grad_fn.plan
    rule = plan.backward

    def noted(*args):
        gs = rule(*args)
        made.append(id(gs[1]))
        return gs

    monkeypatch.setattr(plan, "backward", noted)
    w = torch.ones(8, 8, requires_grad=True)
    (torch.ones(8, 8) @ w).sum().backward()
    assert made == [id(w.grad._array)]
    monkeypatch.undo()
    held = []
    v = torch.ones(3, requires_grad=True)
    v.register_hook(held.append)
    (v * 2.0).sum().backward()
    assert v.grad._array is not held[0]._array
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    (a + b).sum().backward()
    a.grad.zero_()
    assert b.grad.tolist() == [1.0] * 3


def test_the_version_that_was_expected_of_several_overwritten_values():
    """Only the sum of the versions is kept: it was subtracted from one of them, and the message
    said -1.
    """
    x, y = (torch.exp(torch.ones(2, requires_grad=True)) for _ in range(2))
    product = x * y
    x.mul_(2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        product.sum().backward()


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.int64, "long int"),
        (torch.uint8, "unsigned char"),
        (torch.float16, "c10::Half"),
        (torch.bool, "bool"),
    ],
)
def test_a_gradient_of_another_dtype_is_refused_by_its_name_in_c(dtype, name):
    x = torch.ones(2)
    with pytest.raises(
        RuntimeError, match=f"gradient with dtype '{name}' to a tensor with grad_dtype 'Float'"
    ):
        x.grad = torch.ones(2, dtype=dtype)
    assert x.grad is None


def test_hooks_of_a_node_see_no_gradients_of_indices():
    """A node has gradients of its results that are differentiable, and of no others."""
    x = torch.randn(3, 4, requires_grad=True)
    for make in (
        lambda: x.max(-1),
        lambda: x.sort(-1),
        lambda: torch.linalg.lu_factor_ex(x[:, :3]),
    ):
        values = make()[0]
        seen = []
        values.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        values.grad_fn.register_hook(
            lambda inputs, outputs, seen=seen: seen.append((len(inputs), len(outputs)))
        )
        weights = torch.randn(values.shape)
        (doubled,) = torch.autograd.grad((values * weights).sum(), x)
        (plain,) = torch.autograd.grad((make()[0] * weights).sum(), x)
        assert seen == [(1, 1)]
        assert torch.allclose(doubled, 2 * plain)


def test_a_leaf_that_wants_no_gradient_any_more_gets_none():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen = []
    a.register_hook(seen.append)
    loss = (a * b).sum()
    a.requires_grad_(False)
    loss.backward()
    assert a.grad is None and b.grad.tolist() == [1, 1] and len(seen) == 1


class Stops(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None


class Notes(torch.autograd.Function):
    seen: list = []

    @staticmethod
    def forward(ctx, x, materialize=True):
        ctx.set_materialize_grads(materialize)
        return x * 3

    @staticmethod
    def backward(ctx, g):
        Notes.seen.append(g)
        return g, None


def test_functions_below_one_without_a_gradient_run_with_zeros():
    w = torch.ones(3, requires_grad=True)
    Stops.apply(Notes.apply(w) * 1).sum().backward()
    assert Notes.seen.pop().tolist() == w.grad.tolist() == [0.0, 0.0, 0.0]
    v = torch.ones(3, requires_grad=True)
    Stops.apply(Notes.apply(v, False).exp()).sum().backward()
    assert Notes.seen.pop() is None is v.grad
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(Stops.apply(v * v).sum(), v)
    assert torch.autograd.grad(Stops.apply(v * v).sum(), v, allow_unused=True) == (None,)


@pytest.mark.parametrize("first", (True, False))
def test_a_gradient_comes_beside_one_that_is_missing(first):
    w = torch.ones(3, requires_grad=True)
    y = w * w
    parts = [Stops.apply(y).sum(), (y * 3).sum()]
    (parts[first] + parts[1 - first]).backward()
    assert w.grad.tolist() == [6.0, 6.0, 6.0]
    a, b = torch.ones(2, 3, requires_grad=True).mul(1).unbind(0)
    (Stops.apply(a).sum() + Stops.apply(b).sum()).backward()


def test_hooks_of_nodes_see_that_there_is_no_gradient():
    w = torch.ones(3, requires_grad=True)
    y, seen = w * w, []
    y.grad_fn.register_prehook(lambda g: seen.append(g))
    y.grad_fn.register_hook(lambda inner, outer: seen.append((inner, outer)))
    Stops.apply(y).sum().backward()
    assert seen == [(None,), ((None, None), (None,))]


def test_a_search_for_inputs_ends_at_the_oldest_of_them():
    """A solver asks for a gradient at each step: all steps before it are not walked again."""
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(50):
        y = y * 1.01
    last = y * 2
    below = y.grad_fn.next_functions[0][0]
    from pellucid.core import reverse
    from pellucid.core.transforms.narrowing import paths

    run = reverse.BackwardPass(False, True, [y.grad_fn], ())
    found = paths([last.grad_fn], run.wanted, run.oldest)
    assert run.oldest == y.grad_fn.seq > below.seq and list(found) == [id(last.grad_fn)]
    assert reverse.BackwardPass(False, True, [x], ()).oldest == -1
    (g,) = torch.autograd.grad(last.sum(), y, retain_graph=True)
    assert g.tolist() == [2.0, 2.0]
    (g,) = torch.autograd.grad(last.sum(), x)
    assert torch.allclose(g, torch.full((2,), 2 * 1.01**50))


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_backward_for_inputs_computes_no_other_gradients(create_graph):
    """Node hooks see None for the weight, as in PyTorch."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3, requires_grad=True)
    y, seen = layer(x), []
    y.grad_fn.register_hook(lambda inner, outer: seen.append([g is None for g in inner]))
    (g,) = torch.autograd.grad(y.sum(), x, retain_graph=True, create_graph=create_graph)
    assert seen == [[True, False, True]]  # bias, input, weight
    assert torch.equal(g, layer.weight.sum(0).expand(4, 3))
    (w,) = torch.autograd.grad(y.sum(), layer.weight, retain_graph=True)
    assert seen[1] == [True, True, False]
    assert torch.allclose(w, x.sum(0).expand(2, 3))
    y.sum().backward(inputs=[layer.bias])
    assert seen[2] == [False, True, True]
    assert layer.bias.grad.tolist() == [4, 4] and layer.weight.grad is None is x.grad


def test_gradients_that_nobody_asked_for_reach_no_second_derivative():
    """PyTorch's graph of a gradient penalty has no gradients of weights either."""
    a = torch.tensor([2.0], requires_grad=True)
    b = torch.tensor([3.0], requires_grad=True)
    (g,) = torch.autograd.grad(a * b, a, create_graph=True)
    assert torch.autograd.grad(g, (a, b), allow_unused=True) == (None, torch.tensor([1.0]))


def test_what_hooks_packed_is_unpacked_for_some_arguments():
    a = torch.tensor([2.0], requires_grad=True)
    b = torch.tensor([3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t * 5):
        y = a * b
    (g,) = torch.autograd.grad(y, b)
    assert g.tolist() == [20.0]


def test_additions_to_a_gradient_are_counted_before_anyone_asks():
    x = torch.ones(2, requires_grad=True)
    for count in range(3):
        (x * 2).sum().backward()
        if count:
            assert x.grad._version == count


def test_a_gradient_with_a_graph_lies_in_memory_as_its_leaf_does():
    x = torch.rand(2, 4)
    for leaf in (torch.rand(3, 4), torch.rand(4, 3).t(), torch.rand(3, 8)[:, ::2]):
        w = leaf.requires_grad_()
        (x @ w.t()).sin().sum().backward(create_graph=True)
        assert w.grad.stride() == (leaf.stride() if leaf.stride(0) in (1, 4) else (4, 1))
        (second,) = torch.autograd.grad(w.grad.sum(), w)
        assert second.shape == w.shape and second.count_nonzero() == 12


def test_gradients_have_no_class_of_their_own():
    class Own(torch.Tensor):
        pass

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.backward(torch.ones(2).as_subclass(Own), retain_graph=True)
    assert type(x.grad) is torch.Tensor
    for record in (False, True):
        given = torch.ones(2).as_subclass(Own)
        (g,) = torch.autograd.grad(y, x, given, retain_graph=True, create_graph=record)
        assert type(g) is torch.Tensor
    x.backward(torch.ones(2).as_subclass(Own))
    assert type(x.grad) is torch.Tensor


@pytest.mark.parametrize("other", [torch.float64, torch.bfloat16])
def test_a_gradient_keeps_its_dtype_when_the_leaf_gets_another(other):
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    held = x.grad
    x.data = x.data.to(other)
    (x * 3).sum().backward()
    assert x.grad is held and held.dtype is torch.float32
    assert held.tolist() == [5, 5] and held._version == 1
