"""Modes and types of tensors that handle operators."""

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
)
from pellucid.utils._pytree import tree_map, tree_map_only

aten = torch.ops.aten
F = torch.nn.functional


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.told = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.told.append(str(func).removeprefix("aten.").removesuffix(".default"))
        return func(*args, **(kwargs or {}))


class Logged(torch.Tensor):
    """A wrapper that notes what it is told."""

    told: list = []
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.shape, strides=elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
        )
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        assert types == (cls,)
        cls.told.append(str(func))
        inner = tree_map(lambda x: x.elem if isinstance(x, cls) else x, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, func(*inner[0], **inner[1]))


class Two(torch.Tensor):
    """Two tensors in the place of one."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, a, b, size=None, stride=None):
        return torch.Tensor._make_wrapper_subclass(
            cls, a.shape, dtype=a.dtype, device=a.device, requires_grad=a.requires_grad
        )

    def __init__(self, a, b, size=None, stride=None):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Two(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        given = (args, kwargs or {})
        made = []
        for name in "ab":
            part = tree_map_only(Two, lambda x, name=name: getattr(x, name), given)
            made.append(func(*part[0], **part[1]))
        if isinstance(made[0], (tuple, list)):
            out = type(made[0])(Two(*pair) for pair in zip(*made, strict=True))
        else:
            out = Two(*made) if isinstance(made[0], torch.Tensor) else made[0]
        return return_and_correct_aliasing(func, *given, out)


def test_a_mode_is_told_of_operators():
    x, w, b = (
        torch.ones(2, 3, requires_grad=True),
        torch.ones(4, 3, requires_grad=True),
        torch.ones(4, requires_grad=True),
    )
    with Log() as log:
        F.linear(x, w, b).relu().sum().backward()
    assert log.told[:5] == ["t", "addmm", "relu", "detach", "sum"]
    assert [name for name in log.told[5:] if name not in ("detach", "clone")] == [
        "ones_like",
        "expand",
        "threshold_backward",
        "t",
        "mm",
        "t",
        "mm",
        "t",
        "sum.dim_IntList",
        "view",
        "t",
    ]
    assert torch.equal(x.grad, torch.full((2, 3), 4.0)) and torch.equal(
        b.grad, torch.full((4,), 2.0)
    )
    assert torch.equal(w.grad, torch.full((4, 3), 2.0))


def test_modes_stack():
    with Log() as outer:
        with Log() as inner:
            assert _get_current_dispatch_mode() is inner
            torch.ones(2) + 1
        with _disable_current_modes():
            torch.ones(2)
        torch.zeros(1)
    assert inner.told == ["ones", "add.Tensor"] and outer.told == ["ones", "add.Tensor", "zeros"]
    assert _get_current_dispatch_mode() is None


def test_nothing_is_left_behind():
    from pellucid.core import interpret
    from pellucid.core.modes import state

    before = state.slow, vars(torch.Tensor)["add"], torch.ones.__code__
    with pytest.raises(ZeroDivisionError), Log():
        1 / 0
    assert (state.slow, vars(torch.Tensor)["add"]) == before[:2] and not interpret.thread.stack.all


def test_a_mode_replaces_operators():
    class Minus(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return (aten.sub.Tensor if func is aten.add.Tensor else func)(*args, **(kwargs or {}))

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Minus():
        y = x + x * 2
    assert y.tolist() == [-1.0, -2.0] and y.grad_fn.name() == "AddBackward0"

    class OnMeta(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(
                *args,
                **({**kwargs, "device": "meta"} if kwargs and "device" in kwargs else kwargs or {}),
            )

    with OnMeta():
        assert torch.nn.Linear(2, 2).weight.is_meta
    assert not torch.ones(1).is_meta


def test_backward_outside_of_the_mode():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with Log():
        y = F.layer_norm(x, (4,)).exp().std(0).sum()
    y.backward()
    z = x.detach().clone().requires_grad_()
    F.layer_norm(z, (4,)).exp().std(0).sum().backward()
    assert torch.allclose(x.grad, z.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x @ x.t()).tanh().mean(), lambda x: F.softmax(x, 1).log().sum(), lambda x: F.gelu(x).var(0).sum(),
        lambda x: torch.cat([x[0], x[1:].flatten()]).cumsum(0).norm(), lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2])),
        lambda x: (x.max(1)[0] / x.abs().sum(1)).sum(), lambda x: x.clamp(-0.5, 0.5).pow(3).unsqueeze(0).squeeze(0).sum(),
        lambda x: torch.where(x > 0, x, x * x).masked_fill(x > 1, 0.0).sum(), lambda x: torch.stack(x.unbind(0)).sort(0)[0][1].sum(),
        lambda x: F.silu(x).reshape(4, 3).permute(1, 0).expand(2, 3, 4).logsumexp(2).sum(), lambda x: (2**x - 1 / (3 - x)).sqrt().sum(),
        lambda x: F.group_norm(x.view(1, 4, 3), 2).prod(1).sum(), lambda x: F.embedding(torch.tensor([0, 2, 0]), x).sin().sum(),
        lambda x: F.conv1d(x.view(1, 3, 4), x.view(2, 3, 2)).sum(), lambda x: F.smooth_l1_loss(x, x.detach() * 2),
        lambda x: F.scaled_dot_product_attention(x.view(1, 1, 3, 4), x.view(1, 1, 3, 4), x.view(1, 1, 3, 4), is_causal=True).sum(),
        lambda x: x.tril().diagonal().sum() + x.roll(1, 0)[0].sum() + x.repeat(2, 1).amax(0).sum(), lambda x: torch.einsum("ij,kj->ik", x, x).sum(),
    ],
)  # fmt: skip
def test_gradients_under_a_mode_are_those_without(function):
    torch.manual_seed(3)
    data = torch.randn(3, 4, dtype=torch.float64)

    def gradient(mode):
        x = data.clone().requires_grad_()
        if mode:
            with Log():
                return torch.autograd.grad(function(x), x)[0]
        return torch.autograd.grad(function(x), x)[0]

    assert torch.allclose(gradient(True), gradient(False))


def test_second_derivatives_under_a_mode():
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    with Log():
        (g,) = torch.autograd.grad(
            (x.sigmoid() * x.exp() / (x * x + 1)).sum(), x, create_graph=True
        )
        (h,) = torch.autograd.grad(g.sum(), x)
    (g,) = torch.autograd.grad((x.sigmoid() * x.exp() / (x * x + 1)).sum(), x, create_graph=True)
    assert torch.allclose(h, torch.autograd.grad(g.sum(), x)[0])


def test_a_wrapper_is_told_of_operators():
    Logged.told = []
    x, w = (
        Logged(torch.ones(3, 4), requires_grad=True),
        Logged(torch.full((2, 4), 0.5), requires_grad=True),
    )
    y = F.linear(x, w).relu()
    assert (
        type(y) is Logged
        and y.requires_grad
        and y.grad_fn.name() == "ReluBackward0"
        and y.shape == (3, 2)
    )
    y.sum().backward()
    assert type(x.grad) is Logged and x.grad.elem.sum() == 12 and w.grad.elem.sum() == 24
    assert Logged.told[:3] == ["aten.t.default", "aten.mm.default", "aten.relu.default"]


def test_wrappers_and_tensors_mix():
    x = Logged(torch.ones(3))
    assert type(torch.ones(3) * x) is Logged and type(torch.cat([torch.zeros(2), x])) is Logged
    assert (
        x[0].shape == ()
        and x.view(1, 3).shape == (1, 3)
        and x.to(torch.float64).dtype == torch.float64
    )
    x.add_(1).mul_(2)
    assert x.elem.tolist() == [4.0] * 3
    x[0] = 3.0
    assert x.elem.tolist() == [3.0, 4.0, 4.0]
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.LayerNorm(2))
    model(Logged(torch.ones(1, 3))).sum().backward()
    assert type(model[0].weight.grad) is Logged


def test_a_type_below_a_mode():
    Logged.told = []
    with Log() as log:
        Logged(torch.ones(2)) + 1
    assert log.told[-1] == "add.Tensor" and Logged.told == ["aten.add.Tensor"]


def test_two_tensors_in_one():
    x = Two(torch.ones(2, 3), torch.zeros(2, 3)).requires_grad_()
    y = (x * 3 + 1).exp().mean(0).sum()
    y.backward()
    assert torch.allclose(x.grad.b, torch.full((2, 3), 1.5 * torch.e)) and torch.allclose(
        x.grad.a, x.grad.b * torch.tensor(3.0).exp()
    )
    v = x.detach()
    assert (
        v.add_(1) is v
        and v.a[0, 0] == 2
        and type(v.split(1)[0]) is Two
        and type(v.max(1)[0]) is Two
    )
    assert is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(torch.ones(1))
    layer = torch.nn.Linear(3, 2)
    layer.weight = torch.nn.Parameter(Two(torch.ones(2, 3), torch.zeros(2, 3)))
    assert type(layer(torch.ones(1, 3))) is Two and len(list(layer.parameters())) == 2


def test_a_quantised_weight():
    class Quantised(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, q, scale, dtype):
            return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=dtype)

        def __init__(self, q, scale, dtype):
            self.q, self.scale = q, scale

        def full(self):
            return self.q.to(self.dtype) * self.scale

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func in (aten.t.default, aten.detach.default):
                turn = (lambda t: t.t()) if func is aten.t.default else (lambda t: t)
                return return_and_correct_aliasing(
                    func, args, kwargs, cls(turn(args[0].q), turn(args[0].scale), args[0].dtype)
                )
            if func in (aten.mm.default, aten.addmm.default):
                return func(
                    *[a.full() if isinstance(a, cls) else a for a in args], **(kwargs or {})
                )
            raise NotImplementedError(str(func))

    layer, x = torch.nn.Linear(4, 3), torch.ones(2, 4, requires_grad=True)
    scale = layer.weight.detach().abs().amax(1, keepdim=True) / 127
    weight = Quantised((layer.weight.detach() / scale).round().to(torch.int8), scale, torch.float32)
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    y = layer(x)
    assert type(y) is torch.Tensor and torch.allclose(y, F.linear(x, weight.full(), layer.bias))
    y.sum().backward()
    assert torch.allclose(x.grad[0], weight.full().sum(0)) and layer.bias.grad.tolist() == [2.0] * 3
    with pytest.raises(NotImplementedError, match="aten.add.Tensor"):
        layer.weight + 1


def test_nobody_handles():
    class Silent(torch.Tensor):
        @staticmethod
        def __new__(cls, a):
            return torch.Tensor._make_subclass(cls, a)

        @classmethod
        def __torch_dispatch__(cls, *args, **kwargs):
            return NotImplemented

    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \+: 'Silent' and 'int'"
    ):
        Silent(torch.ones(2)) + 1
    with pytest.raises(
        TypeError, match="Multiple dispatch failed for 'torch.ops.aten.exp.default'"
    ):
        torch.exp(Silent(torch.ones(2)))
    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(type("Nothing", (torch.Tensor,), {}), (2,))


class Edges(torch.Tensor):
    """The places of the ones of a matrix, (2, n): a product with it has none of the sizes that its
    own shape says.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, places, rows):
        made = torch.Tensor._make_wrapper_subclass(cls, places.shape, dtype=places.dtype)
        made.places, made.rows = places, rows
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        assert func in (aten.mm.default, aten.mv.default)
        edges, x = args
        return torch.zeros(edges.rows, *x.shape[1:]).index_add(
            0, edges.places[0], x[edges.places[1]]
        )


def test_a_type_says_which_sizes_fit():
    edges, x = Edges(torch.tensor([[0, 1, 1], [2, 0, 3]]), 2), torch.arange(8.0).reshape(4, 2)
    for product in (edges @ x, torch.matmul(edges, x), torch.mm(edges, x)):
        assert product.tolist() == [[4.0, 5.0], [6.0, 8.0]]
    assert (edges @ x[:, 0]).tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    ("a", "b", "told", "message"),
    [
        ((2, 4), (3, 2), ["mm"], r"mat1 and mat2 shapes cannot be multiplied \(2x4 and 3x2\)"),
        (
            (4,),
            (3, 2),
            ["unsqueeze", "mm"],
            r"mat1 and mat2 shapes cannot be multiplied \(1x4 and 3x2\)",
        ),
        ((2, 4), (3,), ["mv"], r"size mismatch, got input \(2\), mat \(2x4\), vec \(3\)"),
        ((4,), (3,), ["dot"], "inconsistent tensor size"),
        (
            (5, 2, 4),
            (3, 2),
            ["view", "mm"],
            r"mat1 and mat2 shapes cannot be multiplied \(10x4 and 3x2\)",
        ),
        (
            (5, 2, 4),
            (5, 3, 2),
            ["expand", "view", "expand", "view", "bmm"],
            "Expected size for first two dimensions",
        ),
        (
            (5, 2, 4),
            (3, 4, 2),
            [],
            r"The size of tensor a \(5\) must match the size of tensor b \(3\)",
        ),
        ((), (3,), [], "both arguments to matmul need to be at least 1D, but they are 0D and 1D"),
    ],
)
def test_operators_refuse_products(a, b, told, message):
    x, y = torch.zeros(a), torch.zeros(b)
    with Log() as log, pytest.raises(RuntimeError, match=message):
        x @ y
    assert log.told == told


def test_products_with_numbers_are_refused_under_a_mode():
    x = torch.zeros(2, 2)
    with (
        Log(),
        pytest.raises(
            TypeError, match=r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not int"
        ),
    ):
        torch.matmul(x, 3)
    with (
        Log(),
        pytest.raises(TypeError, match=r"unsupported operand type\(s\) for @: 'Tensor' and 'int'"),
    ):
        x @ 3


def test_no_chunks_are_refused_under_a_mode():
    with (
        Log(),
        pytest.raises(RuntimeError, match="chunk expects `chunks` to be greater than 0, got: 0"),
    ):
        torch.zeros(2).chunk(0)


def test_a_wrapper_is_described():
    x = Logged(torch.ones(2, 3))
    assert (x.shape, x.dtype, x.device.type, x.is_meta, x.stride()) == (
        (2, 3),
        torch.float32,
        "cpu",
        False,
        (3, 1),
    )
    assert repr(x) == "Logged(..., size=(2, 3))"


def _chained(x):
    y = x * 1
    y.mul_(y)
    return y * 1


def _other(x):
    y = wrapped_like(x, [3.0, 4.0])
    y.mul_(x)
    y.mul_(x)
    return y


def _powers(x):
    y = x.clone()
    y -= 2 * y
    y /= 3
    y **= 2
    return y


def _filled(x):
    y = x.clone()
    y.fill_(3.0)
    return y + x


def _copied(x):
    y = wrapped_like(x, [0.0, 0.0])
    y.copy_(x * 2)
    return y * y


def _without_gradient(x):
    y = x.clone()
    with torch.no_grad():
        y.mul_(5)
    return y * y


def wrapped_like(x, values):
    made = torch.tensor(values)
    return Logged(made) if isinstance(x, Logged) else made


@pytest.mark.parametrize(
    "function",
    [
        _chained,
        _other,
        _powers,
        _filled,
        _copied,
        _without_gradient,
        lambda x: x.clone().mul_(2).exp_(),
        lambda x: (x * 2).split(2)[0] * 3,
    ],
)
def test_what_is_written_in_place_is_part_of_the_graph(function):
    plain = torch.tensor([1.0, 2.0], requires_grad=True)
    function(plain).sum().backward()
    x = Logged(torch.tensor([1.0, 2.0]), requires_grad=True)
    function(x).sum().backward()
    assert torch.equal(x.grad.elem, plain.grad)


def test_values_of_wrappers_in_a_graph_are_read():
    x = Logged(torch.tensor([1.0, 2.0]), requires_grad=True)
    loss = (x * x).sum()
    assert (
        loss.item() == 5.0
        and float(loss) == 5.0
        and int(loss) == 5
        and bool(loss)
        and torch.equal(x, x.clone())
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.view(-1).mul_(2),
        lambda y: y.__setitem__(0, 5.0),
        lambda y: y.view(2, 1).t().add_(1),
    ],
)
def test_writing_through_a_view_of_a_wrapper_is_refused_where_its_gradient_would_be_wrong(write):
    x = Logged(torch.tensor([1.0, 2.0]), requires_grad=True)
    y = x.clone()
    write(y)
    with pytest.raises(NotImplementedError, match="a view of this Logged was changed by"):
        y * y
    with torch.no_grad():
        assert (y * y).elem.tolist() != [1.0, 4.0]


@pytest.mark.parametrize("name, more", [
    ("binary_cross_entropy_with_logits", (None, None)), ("kl_div", ()), ("hinge_embedding_loss", (1.0,)), ("soft_margin_loss", ()),
    ("mse_loss", ()),
])  # fmt: skip
def test_losses_as_operators_reduce_as_their_number_says(name, more):
    x, y, operator = torch.rand(3, 4), torch.ones(3, 4), getattr(torch.ops.aten, name)
    each = operator(x, y, *more, 0)
    assert each.shape == (3, 4)
    assert torch.allclose(operator(x, y, *more), each.mean()) and torch.allclose(
        operator(x, y, *more, 1), each.mean()
    )
    assert torch.allclose(operator(x, y, *more, reduction=2), each.sum())


def test_a_loss_under_a_mode_is_reduced():
    x = torch.rand(3, 4, requires_grad=True)
    with Log():
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x, torch.ones(3, 4))
    assert loss.shape == ()


def test_lists_that_share_lists_are_walked_once():
    from pellucid.aten.dispatch import leaves

    shared, endless = [1], [2]
    for _ in range(60):
        shared = [shared, shared]
    endless.append(endless)
    assert list(leaves((shared, 3), {"x": endless})) == [1, 3, 2]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * (1 + 2j),
        lambda x: x * x,
        lambda x: x / (2 - 1j),
        lambda x: x.exp() + x.sin(),
        lambda x: torch.outer(x, x).mm(torch.outer(x, x)),
    ],
)
def test_gradients_of_complex_numbers(function):
    """The factors were not conjugated: distributed tensors had other gradients, too."""
    whole = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    torch.view_as_real(function(whole)).sum().backward()
    wrapped = Logged(whole.detach(), requires_grad=True)
    torch.view_as_real(function(wrapped)).sum().backward()
    assert torch.allclose(wrapped.grad.elem, whole.grad)
    with Log():
        again = whole.detach().requires_grad_()
        torch.view_as_real(function(again)).sum().backward()
    assert torch.allclose(again.grad, whole.grad)
