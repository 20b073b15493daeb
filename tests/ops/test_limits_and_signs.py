"""What `hardtanh` and `abs` refuse, in PyTorch's words."""

import numpy as np
import pytest

import pellucid as torch

F = torch.nn.functional


@pytest.mark.parametrize("call", [F.hardtanh, F.hardtanh_], ids=["hardtanh", "hardtanh_"])
def test_hardtanh_of_unsigned_numbers_needs_limits_that_they_can_hold(call):
    x = torch.tensor([0, 200], dtype=torch.uint8)
    with pytest.raises(
        RuntimeError, match="^cannot do hardtanh on an unsigned type with negative limits"
    ):
        call(x)
    assert x.tolist() == [0, 200]
    assert call(x, 0, 100).tolist() == [0, 100]


@pytest.mark.parametrize("call", [F.hardtanh, F.relu6])
def test_limits_of_complex_numbers_are_refused(call):
    with pytest.raises(NotImplementedError, match="^clamp is not supported for complex types"):
        call(torch.tensor([1j]))


@pytest.mark.parametrize("call", [torch.abs, abs, F.softsign, torch.Tensor.abs_, torch.absolute])
def test_booleans_have_no_absolute_value(call):
    x = torch.tensor([True, False])
    with pytest.raises(NotImplementedError, match="^\"abs_cpu\" not implemented for 'Bool'"):
        call(x)
    assert x.tolist() == [True, False]


@pytest.mark.parametrize("huge", [1 << 20, 1 << 40, 1 << 62])
def test_strides_and_dilations_that_lead_out_of_the_image(huge):
    functional = torch.nn.functional
    line, image = (
        torch.arange(5.0).reshape(1, 1, 5),
        torch.arange(25.0).reshape(1, 1, 5, 5).requires_grad_(),
    )
    assert functional.max_pool1d(line, 2, huge).tolist() == [[[1.0]]]
    assert functional.conv1d(line, torch.ones(1, 1, 2), stride=huge).tolist() == [[[1.0]]]
    assert (
        functional.conv2d(image, torch.ones(1, 1, 1, 1), dilation=huge).tolist() == image.tolist()
    )
    assert functional.conv_transpose2d(
        torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2), stride=huge
    ).tolist() == [[[[1.0, 1.0]] * 2]]
    once = functional.conv2d(image, torch.ones(1, 1, 2, 2), stride=huge)
    assert once.tolist() == [[[[12.0]]]]
    (slope,) = torch.autograd.grad(once.sum(), image)
    assert slope.sum() == 4.0
    assert slope[0, 0, :2, :2].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    if huge < 1 << 31:
        assert functional.max_pool2d(image, 2, huge).tolist() == [[[[6.0]]]]
        assert functional.avg_pool2d(image, 2, huge, ceil_mode=True).tolist() == [[[[3.0]]]]
    else:
        for pool in (functional.max_pool2d, functional.avg_pool2d):
            with pytest.raises(
                RuntimeError, match="value cannot be converted to type int without overflow"
            ):
                pool(image, 2, huge)


def test_atan2_in_place_takes_tensors_only():
    with pytest.raises(TypeError, match="argument 'other'"):
        torch.ones(2).atan2_(-1.5)
    assert torch.ones(2).atan2_(torch.ones(2)).tolist() == pytest.approx([0.7853982] * 2)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_attention_of_two_byte_numbers_is_rounded_once(kind):
    torch.manual_seed(0)
    q, k, v = ((torch.randn(2, 3, 5, 8) * 6).to(kind).requires_grad_() for _ in range(3))
    attention = F.scaled_dot_product_attention
    made = attention(q, k, v)
    exact = attention(q.double(), k.double(), v.double())
    assert made.dtype is kind
    step = torch.finfo(kind).eps
    assert ((made.double() - exact).abs() <= step * exact.abs() + 1e-4).all()
    made.sum().backward()
    assert {t.grad.dtype for t in (q, k, v)} == {kind}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_of_halves_keeps_its_scores_in_float32_on_every_path(dtype):
    """Scores of two bytes that are large are rounded by more than the weights are apart: broadcast
    operands and dropout are no exception.
    """
    rng = np.random.default_rng(0)
    q, k, v = (
        torch.tensor(5 * rng.standard_normal(s)).to(dtype) for s in ((4, 3, 8), (4, 6, 8), (6, 2))
    )
    attend = torch.nn.functional.scaled_dot_product_attention
    want = attend(q.double(), k.double(), v.double())
    got = attend(q, k, v)
    assert got.dtype is dtype
    assert (got.double() - want).abs().max() <= torch.finfo(dtype).eps * want.abs().max()
    torch.manual_seed(0)
    dropped = attend(q, k, v.expand(4, 6, 2), dropout_p=0.5)
    torch.manual_seed(0)
    want = attend(q.float(), k.float(), v.float().expand(4, 6, 2), dropout_p=0.5)
    assert dropped.dtype is dtype
    assert torch.equal(dropped, want.to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_number_left_out_of_a_formula_of_halves(dtype):
    """`logit` without `eps` of enough elements for a kernel raised NotImplementedError."""
    x = torch.linspace(0.1, 0.9, 200).to(dtype)
    assert torch.equal(torch.logit(x), torch.logit(x.float()).to(dtype))
    assert torch.equal(torch.logit(x, eps=0.2), torch.logit(x.float(), eps=0.2).to(dtype))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "limit",
    [
        torch.relu,
        F.relu6,
        lambda x: x.clone().relu_(),
        lambda x: F.hardtanh(x, 0.0, 1.0),
        lambda x: x.clamp(min=0),
        lambda x: x.clamp(0, 1),
        lambda x: x.clamp(max=0),
    ],
    ids=["relu", "relu6", "relu_", "hardtanh", "clamp_min", "clamp", "clamp_max"],
)
def test_a_zero_at_its_limit_keeps_its_sign(limit, compiled):
    limit = torch.compile(limit) if compiled else limit
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for n in (1, 7, 300):
            for _ in range(3 if compiled else 1):
                assert torch.signbit(limit(torch.full((n,), -0.0, dtype=dtype))).all()
                assert limit(torch.full((n,), float("nan"), dtype=dtype)).isnan().all()


def test_too_large_for_eight_bits_is_the_largest():
    large = torch.tensor([449.0, -1e9, float("inf"), float("nan"), 1.0])
    wanted = "[448.0, -448.0, 448.0, nan, 1.0]"
    kind = torch.float8_e4m3fn
    for source in (torch.float32, torch.float64, torch.bfloat16):
        x = large.to(source)
        assert str(x.to(kind).tolist()) == wanted
        assert str(torch.zeros(5, dtype=kind).copy_(x).tolist()) == wanted
        assert str(torch.tensor(x.tolist(), dtype=kind).tolist()) == wanted
    assert torch.tensor([500, -500]).to(kind).tolist() == [448.0, -448.0]
    assert torch.tensor([7e4]).to(torch.float8_e5m2).item() == float("inf")
    eye = torch.eye(2).to(kind)
    assert torch.equal(eye @ (3 * torch.eye(2)).to(kind), (3 * torch.eye(2)).to(kind))


def test_eigenvalues_read_one_triangle():
    x = torch.tensor([[1.0, float("nan"), 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    assert torch.linalg.eigvalsh(x).tolist() == [1.0, 2.0, 3.0]
    assert torch.linalg.eigvalsh(x.T, UPLO="U").tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(torch.linalg.LinAlgError, match="linalg.eigh"):
        torch.linalg.eigvalsh(x, UPLO="U")


def test_nothing_after_the_last_offset_is_in_a_bag():
    table, index = torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 1, 4])
    bags = torch.nn.functional.embedding_bag
    made = bags(index, table, torch.tensor([0, 2]), mode="sum", include_last_offset=True)
    assert made.tolist() == [[4.0, 6.0]]
    assert bags(index, table, torch.tensor([0, 2]), mode="sum").shape == (2, 2)
    with pytest.raises(RuntimeError, match="offsets.-1. can not be greater"):
        bags(index, table, torch.tensor([0, 9]), include_last_offset=True)


def test_the_frequencies_of_no_samples():
    assert torch.fft.rfftfreq(0).isnan().tolist() == [True]
    with pytest.raises(RuntimeError, match=r"negative dimension -2: \[-2\]"):
        torch.fft.fftfreq(-2)
    with pytest.raises(RuntimeError, match="rfftfreq requires a floating point"):
        torch.fft.rfftfreq(3, dtype=torch.int32)


def test_an_operand_that_is_missing_is_no_copy_of_the_other():
    x = torch.ones(2)
    x.mul_(2.0), x.atan2_(torch.ones(2))  # the calls after the first look at less
    for name in ("mul_", "atan2_"):
        with pytest.raises(TypeError, match=f'^{name}.. missing 1 required positional .*"other"'):
            getattr(x, name)()
    assert torch.allclose(x.exp_(), torch.full((2,), 2.0).atan2(torch.ones(2)).exp())


def test_digits_of_two_byte_floats_are_rounded_once():
    x = torch.tensor([1.453125, 0.2578125, 14.53125])
    for kind in (torch.bfloat16, torch.float16):
        wanted = ((x.to(kind).float() * 10).round() / 10).to(kind)
        assert torch.equal(torch.round(x.to(kind), decimals=1), wanted)
        assert torch.equal(x.to(kind).round_(decimals=1), wanted)


def test_positions_have_the_dtype_of_the_counts():
    counts = torch.tensor([1, 2], dtype=torch.int32)
    assert torch.repeat_interleave(counts).dtype is torch.int32
    assert torch.repeat_interleave(counts.long()).dtype is torch.int64
