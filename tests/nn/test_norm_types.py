"""Which types input and parameters of normalisations may have."""

import pytest

import pellucid as torch

F = torch.nn.functional
SINGLE, DOUBLE, HALF, BRAIN = torch.float32, torch.float64, torch.float16, torch.bfloat16
CALLS = {
    "layer": lambda x, w, b: F.layer_norm(x, (6,), w, b),
    "group": lambda x, w, b: F.group_norm(x, 2, w, b),
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "instance": lambda x, w, b: F.instance_norm(x[..., None].expand(4, 6, 3), None, None, w, b),
}


def called(name, kind, weight, bias):
    x = torch.randn(4, 6).to(kind)
    return CALLS[name](x, torch.ones(6, dtype=weight), torch.zeros(6, dtype=bias))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [HALF, BRAIN])
def test_half_precision_meets_float32_and_stays(name, kind):
    assert called(name, kind, SINGLE, SINGLE).dtype is kind


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "kind, weight, bias, wrong",
    [
        (
            SINGLE,
            DOUBLE,
            DOUBLE,
            "mixed dtype (CPU): expect parameter to have scalar type of Float",
        ),
        (DOUBLE, SINGLE, SINGLE, "mixed dtype (CPU): all inputs must share same datatype."),
        (BRAIN, SINGLE, BRAIN, "mixed dtype (CPU): expect parameter to have scalar type of Float"),
        (BRAIN, BRAIN, SINGLE, "expected scalar type BFloat16 but found Float"),
        (SINGLE, SINGLE, DOUBLE, "expected scalar type Float but found Double"),
    ],
)
def test_other_mixtures_are_refused(name, kind, weight, bias, wrong):
    with pytest.raises(RuntimeError) as error:
        called(name, kind, weight, bias)
    assert str(error.value).splitlines()[0] == wrong


def test_group_norm_of_half_precision_is_rounded_once():
    x = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(1)).bfloat16()
    w, b = torch.linspace(0.3, 2, 6), torch.linspace(-1, 1, 6)
    assert torch.equal(F.group_norm(x, 3, w, b), F.group_norm(x.float(), 3, w, b).bfloat16())


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: F.layer_norm(x, (6,), 2), "layer_norm(): argument 'weight' (position 3) must be Tensor, not int"),
        (lambda x: F.rms_norm(x, (6,), 2), "rms_norm(): argument 'weight' (position 3) must be Tensor, not int"),
        (lambda x: F.batch_norm(x, 2.0, None), "batch_norm(): argument 'running_mean' (position 4) must be Tensor, not float"),
        (lambda x: F.instance_norm(x[None], bias=2.0), "instance_norm(): argument 'bias' (position 3) must be Tensor, not float"),
        (lambda x: F.cross_entropy(x, torch.zeros(4).long(), 3.0), "cross_entropy_loss(): argument 'weight' (position 3) must be Tensor, not float"),
    ],
)  # fmt: skip
def test_parameters_are_tensors(call, text):
    with pytest.raises(TypeError) as error:
        call(torch.ones(4, 6))
    assert str(error.value).splitlines()[0] == text


def test_bilinear_wants_one_type():
    layer = torch.nn.Bilinear(2, 3, 4)
    with pytest.raises(
        RuntimeError,
        match="All tensors must have the same dtype, got input1: float, input2: int, weight: float, bias: float",
    ):
        layer(torch.ones(2), torch.ones(3, dtype=torch.int32))


def test_feature_dropout_wants_channels():
    with pytest.raises(
        RuntimeError, match="Feature dropout requires at least 2 dimensions in the input"
    ):
        F.feature_alpha_dropout(torch.ones(5), 0.5, True)


def test_a_mean_of_nothing_is_nan():
    for n in (1, 2, 3):
        pool = getattr(F, f"adaptive_avg_pool{n}d")
        out = pool(torch.zeros(2, 3, *[4] * (n - 1), 0), 1)
        assert out.shape == (2, 3, *[1] * n)
        assert out.isnan().all()
        with pytest.raises(RuntimeError, match="non-zero size"):
            pool(torch.zeros(2, 3, *[4] * (n - 1), 0), 2)


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_by_statistics_is_one_node(affine):
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm2d(3, affine=affine).double()
    norm(torch.randn(4, 3, 2, 2, dtype=DOUBLE) * 2 + 1)
    norm.eval()
    x = torch.randn(2, 3, 2, 2, dtype=DOUBLE, requires_grad=True)
    mean, variance = norm.running_mean.clone(), norm.running_var.clone()

    def by_hand(x, *parameters):
        shape = (1, 3, 1, 1)
        made = (x - mean.reshape(shape)) / (variance.reshape(shape) + norm.eps).sqrt()
        return (
            made * parameters[0].reshape(shape) + parameters[1].reshape(shape) if affine else made
        )

    leaves = (x, *norm.parameters())
    made, want = norm(x), by_hand(*leaves)
    assert made.grad_fn.name() == "NativeBatchNormBackward0"
    assert [type(f).__name__ for f, _ in made.grad_fn.next_functions if f is not None] == [
        "AccumulateGrad"
    ] * len(leaves)
    norm.running_mean += 1  # a later step's
    for seed in (torch.ones_like(made), x.detach() ** 2):
        for a, b in zip(
            torch.autograd.grad(made, leaves, seed, retain_graph=True),
            torch.autograd.grad(want, leaves, seed, retain_graph=True),
            strict=True,
        ):
            torch.testing.assert_close(a, b)
    norm.running_mean -= 1

    def squares(x, *parameters):
        return F.batch_norm(x, mean, variance, *parameters) ** 2

    assert torch.autograd.gradgradcheck(squares, leaves)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_batch_norm_of_images_in_channels_last(kind):
    x = torch.randn(3, 5, 7, 6, dtype=kind)
    g = torch.randn(3, 5, 7, 6, dtype=kind)
    made = []
    for memory in (torch.contiguous_format, torch.channels_last):
        norm = torch.nn.BatchNorm2d(5, dtype=kind)
        own = x.contiguous(memory_format=memory).detach().requires_grad_()
        y = norm(own)
        assert y.is_contiguous(memory_format=memory)
        y.backward(g)
        made.append((y, own.grad, norm.weight.grad, norm.bias.grad, norm.running_var))
    for a, b in zip(*made, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_batch_norm_by_running_statistics_rounds_two_byte_floats_once(kind):
    norm = torch.nn.BatchNorm2d(5).eval()
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    x = torch.randn(3, 5, 7, 6).to(kind)
    with torch.no_grad():
        assert torch.equal(norm(x), norm(x.float()).to(kind))
        compiled = torch.compile(norm)
        assert torch.equal(compiled(x), norm(x)) and torch.equal(compiled(x), norm(x))
