"""Nodes as PyTorch arranges them: what is shown, that gradients are the same after looking, and what
hooks get.
"""

import pytest

import pellucid as torch

F = torch.nn.functional


def text(node):
    if node is None:
        return "-"
    if node.name().endswith("AccumulateGrad"):
        return "x"
    return f"{node.name()}({', '.join(text(n) for n, _ in node.next_functions)})"


def leaves(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]


ROWS = "UnsafeViewBackward0(MmBackward0(UnsafeViewBackward0(CloneBackward0(x)), TBackward0(x)))"
FIRST = "torch::autograd::CopySlices(-, SliceBackward0(x))"
CHOSEN = "MaskedSelectBackward0(ExpandBackward0(ViewBackward0(x)))"
CASES = {
    "circular padding": (
        lambda x: F.pad(x, (1, 0), mode="circular"),
        [(2, 3)],
        f"torch::autograd::CopySlices({FIRST}, SliceBackward0({FIRST}))",
    ),
    "combinations": (
        torch.combinations,
        [(4,)],
        f"StackBackward0({CHOSEN}, {CHOSEN})",
    ),
    "distances by products": (
        torch.cdist,
        [(2, 26, 2), (2, 3, 2)],
        "ViewBackward0(EuclideanDistBackward0(ViewBackward0(ExpandBackward0(x)), ViewBackward0(ExpandBackward0(x))))",
    ),
    "distances by products, one operand for several": (
        torch.cdist,
        [(26, 2), (2, 3, 2)],
        "ViewBackward0(EuclideanDistBackward0(ViewBackward0(CloneBackward0(ExpandBackward0(x))), ViewBackward0(ExpandBackward0(x))))",
    ),
    "normalization across channels": (
        torch.nn.CrossMapLRN2d(2),
        [(1, 3, 2, 2)],
        "CrossMapLRN2dBackward(x)",
    ),
    "linear": (F.linear, [(3, 4), (5, 4), (5,)], "AddmmBackward0(x, x, TBackward0(x))"),
    "linear without bias": (F.linear, [(3, 4), (5, 4)], "MmBackward0(x, TBackward0(x))"),
    "linear of a vector": (
        F.linear,
        [(4,), (5, 4)],
        "SqueezeBackward4(MmBackward0(UnsqueezeBackward0(x), TBackward0(x)))",
    ),
    "linear of stacks": (
        F.linear,
        [(2, 3, 4), (5, 4), (5,)],
        "ViewBackward0(AddmmBackward0(x, ViewBackward0(x), TBackward0(x)))",
    ),
    "mse_loss": (F.mse_loss, [(3, 4), (3, 4)], "MseLossBackward0(x, x)"),
    "huber_loss": (F.huber_loss, [(3, 4), (3, 4)], "HuberLossBackward0(x, x)"),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, torch.tensor([0, 3, 1])),
        [(3, 4)],
        "NllLossBackward0(LogSoftmaxBackward0(x))",
    ),
    "dist": (torch.dist, [(3, 4), (3, 4)], "DistBackward0(x, x)"),
    "addmv": (
        lambda a, b, c: torch.addmv(a, b, c, beta=2, alpha=3),
        [(3,), (3, 4), (4,)],
        "AddmvBackward0(x, x, x)",
    ),
    "glu": (F.glu, [(3, 4)], "GluBackward0(x)"),
    "matmul of a vector": (
        torch.matmul,
        [(4,), (4, 5)],
        "SqueezeBackward4(MmBackward0(UnsqueezeBackward0(x), x))",
    ),
    "matmul of stacks with a matrix": (
        torch.matmul,
        [(2, 3, 4), (4, 5)],
        "UnsafeViewBackward0(MmBackward0(ViewBackward0(x), x))",
    ),
    "matmul of stacks with a vector": (
        torch.matmul,
        [(2, 3, 4), (4,)],
        "UnsafeViewBackward0(MvBackward0(ViewBackward0(x), x))",
    ),
    "matmul of a matrix with stacks": (
        torch.matmul,
        [(3, 4), (2, 4, 5)],
        (
            "CloneBackward0(TransposeBackward0(UnsafeViewBackward0(MmBackward0("
            "UnsafeViewBackward0(CloneBackward0(TransposeBackward0(x))), TBackward0(x)))))"
        ),
    ),
    "matmul of a vector with stacks": (
        torch.matmul,
        [(4,), (2, 4, 5)],
        (
            "UnsafeViewBackward0(MvBackward0(UnsafeViewBackward0(CloneBackward0("
            "TransposeBackward0(x))), x))"
        ),
    ),
    "matmul of stacks that are spread": (
        torch.matmul,
        [(3, 1, 2, 4), (2, 4, 5)],
        (
            "UnsafeViewBackward0(BmmBackward0(UnsafeViewBackward0(CloneBackward0(ExpandBackward0(x))), "
            "UnsafeViewBackward0(CloneBackward0(ExpandBackward0(x)))))"
        ),
    ),
    "bmm": (torch.bmm, [(2, 3, 4), (2, 4, 5)], "BmmBackward0(x, x)"),
    "an index of several steps": (
        lambda x: x[0:2, None, -1, 1:],
        [(3, 4, 5)],
        "SliceBackward0(SelectBackward0(UnsqueezeBackward0(SliceBackward0(x))))",
    ),
    "reshape that copies": (
        lambda x: x.t().reshape(-1),
        [(3, 4)],
        "UnsafeViewBackward0(CloneBackward0(TBackward0(x)))",
    ),
    "max_pool1d without a batch": (
        lambda x: F.max_pool1d(x, 2),
        [(3, 4)],
        "SqueezeBackward1(MaxPool2DWithIndicesBackward0(UnsqueezeBackward0(x)))",
    ),
    "adaptive_avg_pool2d of everything": (
        lambda x: F.adaptive_avg_pool2d(x, 1),
        [(2, 3, 4, 4)],
        "MeanBackward1(x)",
    ),
    "fftn of real numbers": (
        lambda x: torch.view_as_real(torch.fft.fftn(x)),
        [(3, 4)],
        "ViewAsRealBackward0(FftC2CBackward0(ToCopyBackward0(x)))",
    ),
    "hfftn": (
        lambda x: torch.fft.hfftn(x),
        [(3, 4)],
        "FftC2RBackward0(ConjBackward0(FftC2CBackward0(ToCopyBackward0(x))))",
    ),
    "ihfftn": (
        lambda x: torch.view_as_real(torch.fft.ihfftn(x)),
        [(3, 4)],
        "ViewAsRealBackward0(FftC2CBackward0(ConjPhysicalBackward0(FftR2CBackward0(x))))",
    ),
    "avg_pool1d": (
        lambda x: F.avg_pool1d(x, 2),
        [(2, 3, 4)],
        "SqueezeBackward1(AvgPool2DBackward0(UnsqueezeBackward0(x)))",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_and_that_looking_changes_no_gradient(name):
    function, shapes, shown = CASES[name]

    def gradients(look):
        arguments = leaves(*shapes)
        y = function(*[a * 1 for a in arguments])
        if look:
            text(y.grad_fn)
        first = torch.autograd.grad((y * y).sum(), arguments, create_graph=True)
        total = sum((g * g).sum() for g in first)
        return [*first, *torch.autograd.grad(total, arguments)]

    assert text(function(*leaves(*shapes)).grad_fn) == shown
    for plain, looked in zip(gradients(False), gradients(True), strict=True):
        assert torch.allclose(plain, looked, rtol=1e-12, atol=1e-13)


def test_a_linear_layer_whose_input_does_not_lie_in_rows():
    x, w, b = leaves((3, 2, 4), (5, 4), (5,))
    x = x.detach().transpose(0, 1).requires_grad_()
    assert text(F.linear(x, w).grad_fn) == ROWS
    y = F.linear(x, w, b)
    assert text(y.grad_fn) == f"AddBackward0({ROWS}, x)"
    y.sum().backward()
    assert torch.equal(b.grad, torch.full((5,), 6.0, dtype=torch.float64))


def test_hooks_of_a_function_get_the_gradients_of_its_arguments():
    x, t = leaves((3,), (3,))
    loss = F.mse_loss(x, t)
    seen = []
    loss.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    loss.backward()
    ((inputs, outputs),) = seen
    assert torch.allclose(inputs[0], 2 * (x - t).detach() / 3)
    assert torch.allclose(inputs[1], -inputs[0])
    assert torch.equal(outputs[0], torch.ones((), dtype=torch.float64))


def test_hooks_of_the_arguments_run_once():
    (x,) = leaves((3, 4))
    y = x * 2
    calls = []
    y.register_hook(lambda g: calls.append(g.shape))
    x.register_hook(lambda g: calls.append(g.shape))
    loss = F.mse_loss(y, torch.zeros(3, 4, dtype=torch.float64))
    text(loss.grad_fn)
    loss.backward()
    assert len(calls) == 2
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_pack_hooks_get_the_transposed_weight():
    x, w, b = leaves((2, 3, 4), (5, 4), (5,))
    packed = []

    def pack(t):
        packed.append(tuple(t.shape))
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):
        y = F.linear(x, w, b)
    assert packed == [(6, 4), (4, 5)]
    y.sum().backward()
    assert torch.allclose(x.grad, 2 * w.detach().sum(0).expand(2, 3, 4))  # what was unpacked counts
    assert torch.allclose(w.grad, 2 * x.detach().sum((0, 1)).expand(5, 4))


def test_pack_hooks_of_a_cross_entropy_get_the_logarithms():
    (x,) = leaves((3, 4))
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        loss = F.cross_entropy(x, torch.tensor([0, 3, 1]))
    assert [tuple(t.shape) for t in packed] == [(3, 4), (3, 4), (3,), ()]
    assert torch.allclose(packed[0], x.detach().log_softmax(1))
    loss.backward()
    assert torch.allclose(x.grad.sum(1), torch.zeros(3, dtype=torch.float64))


def test_logits_that_are_overwritten_before_somebody_looks():
    (x,) = leaves((3, 4))
    logits = x * 1
    loss = F.cross_entropy(logits, torch.tensor([0, 3, 1]))
    logits.mul_(2)  # PyTorch keeps the logarithms
    assert text(loss.grad_fn) == "NllLossBackward0(LogSoftmaxBackward0(MulBackward0(x, -)))"
    loss.backward()
    expected = x.detach().softmax(1) - F.one_hot(torch.tensor([0, 3, 1]), 4)
    assert torch.allclose(x.grad, expected / 3)


def described(node):
    if node is None:
        return "-"
    if node.name().endswith("AccumulateGrad"):
        return "x"
    return f"{node.name().removeprefix('torch::autograd::')}({', '.join(described(n) for n, _ in node.next_functions)})"


@pytest.mark.parametrize(
    "write, text",
    [
        (lambda y, z: y[0].mul_(2), "CopySlices(MulBackward0(x, -), -)"),
        (lambda y, z: y[0].fill_(2), "CopySlices(MulBackward0(x, -))"),
        (lambda y, z: y.t().add_(z), "CopySlices(MulBackward0(x, -), x)"),
        (lambda y, z: y[0].copy_(z[0]), "CopySlices(MulBackward0(x, -), SelectBackward0(x))"),
        (
            lambda y, z: y.__setitem__(0, z[0] * 2),
            "CopySlices(MulBackward0(x, -), MulBackward0(SelectBackward0(x), -))",
        ),
        (lambda y, z: y.fill_diagonal_(1), "CopySlices(MulBackward0(x, -))"),
    ],
)
def test_a_write_to_a_part_shows_the_whole_and_what_was_written(write, text):
    x, z = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    grads = []
    for looks in (False, True):
        y = x * 1
        write(y, z)
        if looks:
            assert described(y.grad_fn) == text
        weights = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        grads.append(torch.autograd.grad((y * y * weights).sum(), (x, z), allow_unused=True))
    for plain, looked in zip(*grads, strict=True):
        assert plain is looked is None or torch.equal(plain, looked)


def test_local_response_norm_views_its_squares_once():
    (x,) = leaves((1, 2, 3, 3))
    y = F.local_response_norm(x, 2)
    assert "ViewBackward0(MulBackward0(x, x))" in text(y.grad_fn)


@pytest.mark.parametrize(
    ("function", "name", "count"),
    [
        (torch.aminmax, "AminmaxBackward0(x)", 2),
        (lambda x: torch.linalg.lu(x)[1:], "LinalgLuBackward0(x)", 2),
        (lambda x: torch.unbind_copy(x, -1), "UnbindBackward0_copy(x)", 3),
        (lambda x: torch.unbind_copy(x[:1]), "UnbindBackward0_copy(SliceBackward0(x))", 1),
        (
            lambda x: torch.native_group_norm(x, None, None, 3, 3, 1, 1, 1e-5),
            "NativeGroupNormBackward0(x, -, -)",
            3,
        ),
    ],
)
def test_results_of_several_operations_have_one_node(function, name, count):
    (x,) = leaves((3, 3))
    made = function(x)
    assert [text(t.grad_fn) for t in made] == [name] * count
    assert [t.output_nr for t in made] == [*range(count)]
    assert len({t.grad_fn for t in made}) == 1
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))
    made[-1].sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        made[0].sum().backward()


def test_what_same_pads_on_one_side_is_a_node_before_the_convolution():
    x, w, b = leaves((1, 2, 5), (3, 2, 4), (3,))
    found = []
    for looks in (False, True):
        y = F.conv1d(x, w, b, padding="same")
        if looks:
            assert text(y.grad_fn) == "ConvolutionBackward0(ConstantPadNdBackward0(x), x, x)"
            assert y.grad_fn._saved_input.shape == (1, 2, 6)
        first = torch.autograd.grad(y.pow(2).sum(), (x, w, b), create_graph=True)
        second = torch.autograd.grad(sum(g.pow(2).sum() for g in first), (x, w, b))
        found.append((*first, *second))
    for plain, looked in zip(*found, strict=True):
        torch.testing.assert_close(plain, looked)


def test_digits_that_are_given_are_another_overload():
    (x,) = leaves((3,))
    assert text(torch.round(x).grad_fn) == "RoundBackward0(x)"
    assert text(x.round(decimals=0).grad_fn) == "RoundBackward1(x)"
    assert text(torch.special.round(x).grad_fn) == "RoundBackward1(x)"
