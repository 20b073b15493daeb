"""Single calls that fuzzers found to differ from PyTorch."""

import copy
import math

import pytest

import pellucid as torch
from pellucid.nn import functional as F


def test_a_sum_of_no_products_is_nothing_however_often():
    x = torch.randn(2, 3)
    assert torch.equal(torch.addmm(x, torch.ones(2, 0), torch.ones(0, 3), alpha=math.inf), x)
    assert torch.equal(torch.addmv(x[0], torch.ones(3, 0), torch.ones(0), alpha=math.inf), x[0])


def test_bincount_of_nothing_counts():
    nothing = torch.zeros(0, dtype=torch.int64)
    assert torch.bincount(nothing, weights=nothing.double()).dtype is torch.int64
    assert torch.bincount(nothing, minlength=2).tolist() == [0, 0]


def test_an_area_that_no_number_counts_is_refused_at_once():
    with pytest.raises(TypeError, match="Overflow when unpacking long long"):
        F.interpolate(torch.ones(2, 3, 4), scale_factor=1e30, mode="area")
    with pytest.raises(RuntimeError):
        F.interpolate(torch.ones(2, 3, 4), scale_factor=1e17, mode="area")


def test_copies_of_parts_of_nothing():
    for part in (torch.zeros(0, 4)[..., 1:], torch.zeros(0, 4).t()[2:], torch.zeros(3, 4)[3:, 1:]):
        made = copy.deepcopy(part)
        assert made.shape == part.shape and made.stride() == part.stride()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("align", [False, True])
def test_no_gradient_passes_at_the_border_of_an_image(dtype, align):
    x = torch.arange(8).reshape(1, 1, 2, 4).to(dtype)
    place = 1.0 if align else 0.75  # the middle of the last pixel
    grid = torch.tensor([[[[place, 0.0]]]], dtype=dtype, requires_grad=True)
    F.grid_sample(x, grid, padding_mode="border", align_corners=align).sum().backward()
    assert grid.grad[0, 0, 0, 0] == 0


def test_how_many_elements_there_are_has_no_gradient():
    x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    x.norm(0).backward()
    assert x.grad is None
    (x.norm(0) * x.sum()).backward()
    assert x.grad.tolist() == [2.0] * 3
    assert torch.func.jacfwd(lambda x: x.norm(0))(x.detach()).tolist() == [0.0] * 3


def test_weights_do_not_change_the_dtype_of_a_loss():
    x, y, weight = torch.rand(3).half(), torch.rand(3).half(), torch.rand(3)
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        assert loss(x, y, weight).dtype is torch.float16
        assert loss(x.float(), y.float(), weight.double()).dtype is torch.float32


def test_slopes_of_infinite_inputs():
    x = torch.tensor([math.inf, -1.0], requires_grad=True)
    weight = torch.tensor([0.25], requires_grad=True)
    F.prelu(x, weight).sum().backward()
    assert weight.grad.tolist() == [-1.0]
    assert x.grad.tolist() == [1.0, 0.25]


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_least_squares_of_infinities_end(dtype):
    a = torch.randn(3, 4, 3, dtype=dtype)
    a[1, 2, 0] = math.inf
    a.requires_grad_()
    solution = torch.linalg.lstsq(a, torch.ones(3, 4, 2, dtype=dtype)).solution
    assert solution[1].isnan().all() and solution[::2].isfinite().all()
    assert torch.linalg.pinv(a.detach())[1].isnan().all()
    b = torch.ones(3, 4, 2, dtype=dtype)
    b[0, 0, 1] = math.nan
    solution = torch.linalg.lstsq(torch.randn(3, 4, 3, dtype=dtype), b).solution
    assert solution[0, :, 1].isnan().all() and solution[0, :, 0].isfinite().all()


def test_singular_values_of_nan_are_refused():
    x = torch.full((3, 2), math.nan)
    for function in (torch.linalg.svdvals, torch.linalg.pinv, torch.linalg.matrix_rank):
        with pytest.raises(RuntimeError, match=r"linalg\.svd: The algorithm failed to converge"):
            function(x)


def test_terms_without_end_are_refused():
    with pytest.raises((MemoryError, RuntimeError)):
        torch.mvlgamma(torch.tensor(3.0), 1 << 50)


def test_the_classes_of_a_vector_are_its_first_dimension():
    x, target = torch.ones(5), torch.zeros(1, 5)
    loss = F.multilabel_soft_margin_loss(x, target, reduction="none")
    assert loss.shape == (5,)
    assert F.multilabel_soft_margin_loss(x[None], target, reduction="none").shape == (1,)


def test_full_poisson_losses_keep_their_type():
    loss = F.poisson_nll_loss(torch.ones(3).half(), torch.tensor([1, 2, 3]), full=True)
    assert loss.dtype is torch.float16


def test_masked_scores_are_rounded_once():
    size = 2
    attention = torch.nn.MultiheadAttention(size, 1, bias=False, dtype=torch.bfloat16)
    x = torch.tensor([[[1.0, 1.0]], [[2.0, 1.0]]], dtype=torch.bfloat16)
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.eye(size).repeat(3, 1) * 13)
    mask = torch.tensor([[0.0, -166.0], [0.0, -167.0]], dtype=torch.bfloat16)
    _, weights = attention(x, x, x, attn_mask=mask)
    q = (x[:, 0] * 13).bfloat16()
    exact = (q * math.sqrt(0.5)).float() @ q.float().T + mask.float()
    assert torch.equal(weights[0], exact.bfloat16().softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_slopes_of_robust_losses_at_infinity(loss, dtype):
    def slope(x):
        return torch.autograd.grad(loss(x, torch.zeros_like(x), reduction="sum"), x)[0]

    x = torch.tensor([-math.inf, math.inf, 3.0, 0.5, math.nan] * 8, dtype=dtype).requires_grad_()
    compiled = torch.compile(slope)
    for function in (slope, compiled, compiled):
        made = function(x).tolist()
        assert made[:4] == [-1.0, 1.0, 1.0, 0.5] and math.isnan(made[4])


# ---- refusals ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.allclose(torch.zeros(1), torch.zeros(1), rtol=float("nan")), "got nan"),
        (lambda: torch.addr(torch.zeros(5, 10), torch.ones(5), torch.ones(1)), "expanded size"),
        (
            lambda: F.batch_norm(torch.ones(2, 2), torch.ones(2), torch.ones(2), eps=-1.0),
            "must be non-negative",
        ),
        (
            lambda: F.binary_cross_entropy(
                torch.rand(3, 1), torch.rand(3, 1), weight=torch.rand(3, 4)
            ),
            "doesn't match the broadcast shape",
        ),
        (lambda: F.interpolate(torch.zeros(2, 3, 0), size=3, mode="area"), "non-zero size"),
        (lambda: F.interpolate(torch.zeros(2, 0, 4, 4, 4), size=3, mode="area"), "non-zero size"),
        (lambda: torch.bincount(torch.tensor([0, 1 << 62])), "Storage size calculation overflowed"),
        (lambda: F.rms_norm(torch.zeros(1, 2), (1, 2, 3)), "at least 3 dimensions"),
        (
            lambda: torch.linalg.pinv(torch.ones(2, 3), rtol=torch.ones(1, dtype=torch.complex64)),
            "complex type is not supported",
        ),
        (lambda: torch.linalg.lstsq(torch.rand(3, 2, 3), torch.rand(2, 3)), "must match the size"),
    ],
)
def test_what_does_not_fit_is_refused(call, text):
    with pytest.raises((RuntimeError, ValueError), match=text):
        call()


def test_sparse_gradients_by_frequency_are_refused_in_backward():
    table = torch.ones(7, 3, requires_grad=True)
    for out in (
        F.embedding(torch.tensor([1, 1]), table, scale_grad_by_freq=True, sparse=True),
        F.embedding_bag(torch.tensor([[1, 1]]), table, scale_grad_by_freq=True, sparse=True),
    ):
        with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported"):
            out.sum().backward()


# ---- results -------------------------------------------------------------------------------------
def test_nothing_is_pooled_at_once():
    assert F.adaptive_avg_pool2d(torch.zeros(0, 4, 3), (1 << 40, None)).shape == (0, 1 << 40, 3)


def test_a_copied_view_needs_no_view():
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 1, 0)
    assert torch.equal(torch.view_copy(x, (12, 2)), x.reshape(12, 2))
    assert torch.view_copy(torch.zeros(2), torch.int32).dtype is torch.int32


# ---- gradients -----------------------------------------------------------------------------------
def test_the_next_number_after_itself_does_not_move():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.nextafter(x, torch.tensor([1.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_weights_of_instance_norm_see_what_was_not_rounded():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 50)
    grads = []
    for image in (x.bfloat16(), x.bfloat16().float()):
        weight = torch.ones(3, requires_grad=True)
        out = F.instance_norm(image, weight=weight)
        (out.float() * torch.arange(50.0)).sum().backward()
        grads.append(weight.grad)
    assert torch.allclose(*grads, rtol=1e-5)


def test_gradients_of_many_vectors_pass_a_view_that_was_written_to():
    x = torch.randn(3, 4, requires_grad=True)
    y = x * 1
    y.view(-1)[0].mul_(2)
    (rows,) = torch.autograd.grad(y.mT, x, torch.ones(2, 4, 3), is_grads_batched=True)
    assert rows.shape == (2, 3, 4) and rows[:, 0, 0].tolist() == [2.0, 2.0]


def test_products_of_nothing_in_two_bytes():
    x, w = torch.zeros(2, 3, 0).bfloat16(), torch.zeros(1, 0).bfloat16()
    assert F.linear(x, w).shape == torch.matmul(x, w.T).shape == (2, 3, 1)


def test_a_module_with_sparse_gradients_changes_its_type():
    table = torch.nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1, 2, 1])).sum().backward()
    grad = table.double().weight.grad
    assert grad.is_sparse and grad.dtype is torch.float64


def test_convolutions_of_a_batch_keep_their_precision_under_autocast():
    w = torch.ones(3, 2, 3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = torch.vmap(lambda image: F.conv2d(image, w))(torch.ones(4, 1, 2, 5, 5))
        alone = F.conv2d(torch.ones(1, 2, 5, 5), w)
    assert made.dtype is torch.float32 and alone.dtype is torch.bfloat16


def test_a_size_is_whole():
    with pytest.raises(TypeError, match="got size with types"):
        F.interpolate(torch.zeros(2, 3, 4, 4), (2.5, 3))
    assert F.interpolate(torch.zeros(1, 1, 2, 2), (torch.tensor(3), 4)).shape == (1, 1, 3, 4)


def test_powers_of_two_are_taken_in_the_type_of_the_result():
    made = torch.ldexp(torch.tensor(-8.4765625).half(), torch.tensor(-1.765625).bfloat16())
    assert made.dtype is torch.float32 and abs(made.item() + 2.49295) < 1e-5


def test_factors_of_whole_numbers_wrap_around_or_are_refused():
    two = torch.tensor([2], dtype=torch.uint8)
    assert torch.addcmul(two + 1, two, two, value=-1).item() == 255
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        torch.addcmul(two, two, two, value=300)


def test_elements_are_not_written_over_what_is_read():
    x = torch.arange(2)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[[-1, 0]] = x[:1]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[[-1, 0]] = x[1]
    x[[-1, 0]] = x[1].clone()
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["and", "or", "xor", "not"])
def test_logic_in_place_is_beside_the_graph(name):
    given = () if name == "not" else (torch.tensor([1.0, 0.0]),)

    def written(x):
        return getattr(x, f"logical_{name}_")(*given)

    leaf = torch.ones(2, requires_grad=True)
    assert written(leaf) is leaf and leaf.is_leaf and leaf.requires_grad and leaf._version == 1
    for run in (lambda w: written(w * 2).sum(), torch.compile(lambda w: written(w * 2).sum())):
        w = torch.ones(2, requires_grad=True)
        run(w).backward()
        assert w.grad.tolist() == [2.0, 2.0]  # as if nothing had been written


def test_leaves_are_named_by_what_is_written():
    leaf = torch.ones(3, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable"):
        leaf.fill_diagonal_(2)
    with pytest.raises(RuntimeError, match="^a leaf Variable"):
        leaf.set_(torch.zeros(2))
    with torch.no_grad():
        leaf.fill_diagonal_(2)
        assert leaf.set_(torch.zeros(2)).shape == (2,)


def test_a_view_without_a_node_keeps_no_gradient():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        view = x.reshape(-1)
        x.sub_(1)
    assert view.retain_grad() is None  # there is no node to ask
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode"):
        view.sum()


def test_fractional_pools_round_in_the_type_of_the_input():
    samples = torch.tensor([[[0.7, 0.3]]])
    x = torch.arange(100.0).reshape(1, 1, 10, 10)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        made = F.fractional_max_pool2d(
            x.to(dtype), 2, output_size=6, _random_samples=samples.to(dtype)
        )
        starts = []
        for sample in (0.7, 0.3):
            alpha = torch.tensor(8.0).to(dtype) / torch.tensor(5.0).to(dtype)
            drawn = torch.tensor(sample).to(dtype)
            steps = [int((torch.tensor(float(i)).to(dtype) + drawn) * alpha) for i in range(5)]
            starts.append([s - int(drawn * alpha) for s in steps] + [8])
        want = [[10.0 * (row + 1) + column + 1 for column in starts[0]] for row in starts[1]]
        assert made[0, 0].tolist() == want, dtype


def test_fractional_pools_at_their_limits():
    nothing = F.fractional_max_pool2d(torch.ones(1, 2, 1, 3), 1, output_ratio=0.5)
    assert nothing.shape == (1, 2, 0, 1)
    with pytest.raises(RuntimeError, match=r"negative dimension -3: \[1, 2, 2, -3\]"):
        F.fractional_max_pool2d(torch.ones(1, 2, 5, 5), 2, output_size=(2, -3))
    with pytest.raises(RuntimeError, match="pool time 2 too large relative to input time 2"):
        F.fractional_max_pool3d(torch.ones(1, 2, 2, 4, 4), 2, output_size=1)
    x = torch.tensor([[[[math.inf, math.nan], [math.nan, 1.0]]]])
    _, place = F.fractional_max_pool2d_with_indices(x, 2, output_size=1)
    assert place.item() == 2  # the last nan


def test_the_diagonal_of_an_expanded_tensor_is_filled_through_it():
    row = torch.zeros(1, 3)
    assert row.expand(2, 3).fill_diagonal_(1).tolist() == [[1, 1, 0]] * 2
    assert row.tolist() == [[1, 1, 0]]
    assert torch.zeros(1, 3).expand(7, 3).fill_diagonal_(2, wrap=True).unique().tolist() == [2]


@pytest.mark.parametrize("name", ["logical_not_", "logical_xor_"])
def test_logic_in_place_keeps_the_tangent(name):
    def f(x):
        y = x * 2
        getattr(y, name)(*([x] if "xor" in name else []))
        return y

    x = torch.tensor([0.0, 1.0])
    y, tangent = torch.func.jvp(f, (x,), (torch.ones(2),))
    assert y.tolist() == ([1.0, 0.0] if "not" in name else [0.0, 0.0])
    assert tangent.tolist() == [2.0, 2.0]


def test_transposed_convolutions_of_wide_numbers_leave_something():
    x, w = torch.ones(2, 2, 2), torch.ones(2, 3, 3)
    assert F.conv_transpose1d(x, w, padding=2).shape == (2, 3, 0)
    assert F.conv_transpose1d(x[:0].double(), w.double(), padding=2).shape == (0, 3, 0)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.conv_transpose1d(x.double(), w.double(), padding=2)
    with pytest.raises(RuntimeError, match="Only zero batch"):
        F.conv_transpose1d(torch.ones(2, 2, 0), w, output_padding=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [6, 1 << 17])
def test_a_power_of_minus_a_half_is_one_over_the_root(dtype, size):
    x = torch.tensor([-math.inf, -0.0, 0.0, math.inf, -1.0, 4.0], dtype=dtype)
    x = x.repeat(size // 6 + 1)[:size]
    compiled = torch.compile(lambda x: x**-0.5)
    for f in (lambda x: x**-0.5, lambda x: x.clone().pow_(-0.5), compiled, compiled):
        made = f(x)[:6].tolist()
        assert math.isnan(made[0]) and math.isnan(made[4])
        assert made[1:4] == [-math.inf, math.inf, 0.0] and made[5] == 0.5
    slope = torch.autograd.grad(x.requires_grad_().pow(0.5).sum(), x)[0][:6].tolist()
    assert math.isnan(slope[0]) and slope[1:4] == [-math.inf, math.inf, 0.0]


def test_set_leaves_the_history_of_a_result_and_takes_none():
    leaf = torch.ones(3, requires_grad=True)
    result = leaf * 2
    assert result.set_(torch.ones(4)) is result
    assert result.requires_grad and result.grad_fn.name() == "torch::autograd::NotImplemented"
    assert torch.autograd.grad(result.sum(), result)[0].tolist() == [1.0] * 4
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        result.sum().backward()


@pytest.mark.parametrize("made", [False, True])
def test_set_to_what_requires_grad_requires_it_too(made):
    source = torch.ones(4, requires_grad=True)
    source = source * 2 if made else source
    x = torch.zeros(3).set_(source)
    assert x.requires_grad and not x.is_leaf and x.data_ptr() == source.data_ptr()
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        x.sum().backward()
    y = torch.zeros(3)
    with torch.no_grad():
        y.set_(source)
    assert not y.requires_grad and y.is_leaf
    with pytest.raises(RuntimeError, match="a view that requires gradients"):
        torch.zeros(3)[1:].set_(source)


def test_jacobians_of_results_without_elements_are_empty():
    x = torch.ones(3)
    assert torch.func.jacrev(lambda x: x[:0])(x).shape == (0, 3)
    assert torch.func.jacrev(lambda x: x[:0])(torch.ones(0)).shape == (0, 0)
    assert torch.func.vmap(torch.func.jacrev(lambda x: x[:0]))(torch.ones(2, 3)).shape == (2, 0, 3)
    sliced = lambda x: (x[:0], x * 2)
    made = torch.autograd.functional.jacobian(sliced, x, vectorize=True)
    assert [m.shape for m in made] == [(0, 3), (3, 3)]


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (2, 0, 0)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_matrices_without_elements_have_decompositions_in_two_bytes(dtype, shape):
    x = torch.zeros(shape, dtype=dtype)
    linalg = torch.linalg
    parts = [*linalg.svd(x), *linalg.eigh(x), linalg.cholesky(x), linalg.solve(x, x), *linalg.lu(x)]
    parts += [linalg.svdvals(x), linalg.det(x), linalg.lu_factor(x).LU, linalg.ldl_factor(x).LD]
    assert {part.dtype for part in parts} == {dtype}
    assert torch.equal(linalg.det(x), torch.ones(shape[:-2], dtype=dtype))
    for refused in (linalg.qr, linalg.inv, linalg.slogdet, linalg.eigvals):
        with pytest.raises(RuntimeError):
            refused(x)
    one = torch.ones(1, 1, dtype=dtype)
    for refused in (linalg.svd, linalg.eigh, linalg.cholesky, linalg.det, linalg.lu_factor):
        with pytest.raises(NotImplementedError, match="_cpu"):
            refused(one)


def test_residuals_of_no_unknowns():
    a, b = torch.zeros(2, 3, 0), torch.ones(2, 3, 2)
    assert torch.linalg.lstsq(a, b).residuals.shape == (0,)
    assert torch.linalg.lstsq(a, b, driver="gelsd").residuals.shape == (2, 2)


def test_nothing_is_detached_in_place_in_inference_mode():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        assert x.detach_() is x and y.detach_() is y and y[:1].detach_().shape == (1,)
    assert x.requires_grad and y.requires_grad and not y.is_leaf


@pytest.mark.parametrize("grad", [False, True])
def test_a_number_out_of_the_memory_that_positions_write_to_is_refused(grad):
    def made():
        x = torch.arange(3.0, requires_grad=grad)
        return x * 1

    zeros = torch.tensor([0, 0])
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x = made()
        x[zeros] = x[1]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x = made()
        x.index_put_((zeros,), x[1], accumulate=True)
    x = made()
    x[torch.tensor([True, False, True])] = x[1]  # one value for all, read before
    assert x.tolist() == [1, 1, 1]


def test_transforms_see_past_inference_mode():
    func = torch.func
    x = torch.arange(3.0)
    sines = lambda t: t.sin().sum()
    calls = (
        lambda x: func.grad(sines)(x),
        lambda x: func.grad_and_value(sines)(x),
        lambda x: func.vjp(torch.sin, x)[1](x),
        lambda x: func.vjp(lambda t: t[1:], x)[1](x[1:]),
        lambda x: func.jvp(torch.sin, (x,), (x,)),
        lambda x: func.jacrev(lambda t: t[1:] * t.sum())(x),
        lambda x: func.jacfwd(lambda t: t[1:] * t.sum())(x),
        lambda x: func.hessian(sines)(x),
        lambda x: func.vmap(func.grad(torch.sin))(x),
        lambda x: func.jacfwd(func.grad(sines))(x),
    )
    for call in calls:
        wanted = call(x)
        with torch.inference_mode():
            for given in (x, x.clone()):
                made = call(given)
                torch.testing.assert_close(made, wanted)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_are_taken_at_full_precision_under_autocast(name):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = getattr(torch, name)(torch.tensor([1.0, 2.0, 4.0]).bfloat16(), 0.5)
    assert (made.dtype, made.item()) == (torch.float32, 2.0)


def test_the_variance_of_a_loss_has_as_many_dimensions_as_the_input():
    x, var = torch.tensor(1.0), torch.ones(1)
    with pytest.raises(ValueError, match="var is of incorrect size"):
        torch.nn.functional.gaussian_nll_loss(x, x, var)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_state_made_in_inference_mode_is_written_to_in_that_mode(name):
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    o = getattr(torch.optim, name)([p], lr=0.1, momentum=0.9) if name == "SGD" else None
    o = o or getattr(torch.optim, name)([p], lr=0.1)
    with torch.inference_mode():
        o.step()
    before = p.detach().clone()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
        o.step()
    assert torch.equal(p, before)
    with torch.inference_mode():
        o.step()
    assert not torch.equal(p, before)


@pytest.mark.parametrize(
    ("shape", "places"), [((2, 3, 8, 1), [2, 2, 4, 6]), ((2, 3, 1, 6), [1, 1, 3])]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_windows_that_look_at_nothing_have_places_inside_the_plane(shape, places, dtype):
    def step(x):
        values, index = torch.nn.functional.max_pool2d(
            x, 2, stride=2, padding=1, dilation=2, return_indices=True
        )
        return index, torch.autograd.grad(values.sum(), x)[0]

    run, x = torch.compile(step), torch.zeros(shape, dtype=dtype, requires_grad=True)
    expected = torch.zeros(shape[2] * shape[3], dtype=dtype)
    for at in places:
        expected[at] += 1
    for call in (step, run, run):
        index, gradient = call(x)
        assert index[1, 2].flatten().tolist() == places
        assert torch.equal(gradient[1, 2].flatten(), expected)


@pytest.mark.parametrize("product", [lambda x: torch.mv(torch.ones(3, 4), x), lambda x: x.dot(x)])
def test_products_of_vectors_that_are_samples_take_the_precision_of_autocast(product):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product(torch.ones(4)).dtype == torch.float32
        made = torch.func.vmap(product)(torch.ones(2, 4))
    assert made.dtype == torch.bfloat16
    assert (made == 4).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rms_norm_of_an_input_without_gradient_keeps_only_what_it_normalized(dtype):
    x, weight = torch.rand(3, 5, dtype=dtype), torch.rand(5, dtype=dtype, requires_grad=True)
    plain = torch.nn.functional.rms_norm(x, (5,), weight.detach())
    y = torch.nn.functional.rms_norm(x, (5,), weight)
    assert torch.equal(y, plain)
    expected = (plain / weight.detach()).sum(0)
    with torch.no_grad():
        weight.add_(1)
        x.zero_()
    y.sum().backward()
    torch.testing.assert_close(weight.grad, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda i: torch.zeros(0, 0)[:, i],
        lambda i: torch.zeros(1, 0)[1:, i],
        lambda i: torch.zeros(0, 0).__setitem__((slice(None), i), 1.0),
        lambda i: torch.zeros(0, 3).index_put_((i,), torch.tensor(1.0)),
    ],
)
def test_a_dimension_without_elements_has_nothing_to_pick(call):
    with pytest.raises(
        IndexError, match=r"^index is out of bounds for dimension with size 0(\n|$)"
    ):
        call(torch.tensor([-2]))
    call(torch.zeros(0, dtype=torch.int64))


def test_of_nothing_no_index_is_out_of_bounds():
    first, far = torch.tensor([0]), torch.tensor([9])
    assert torch.zeros(0, 2, 3)[:, first, far].shape == (0, 1)
    assert torch.zeros(0, 3)[:, far].shape == (0, 1)
    torch.zeros(0, 3)[:, far] = 1.0


@pytest.mark.parametrize(
    "square", [torch.square, lambda x: x**2, lambda x: x.pow(2.0), lambda x: (x**2).sum()]
)
def test_the_second_derivative_of_a_square_has_one_too(square):
    x = torch.tensor(3.0, requires_grad=True)
    made, found = square(x), []
    for _ in range(3):
        (made,) = torch.autograd.grad(made, x, create_graph=True)
        found.append((made.item(), made.requires_grad))
    assert found == [(6.0, True), (2.0, True), (0.0, False)]


@pytest.mark.parametrize("shape", [(1,), (3, 1)])
def test_the_norm_of_one_element_has_a_slope_of_one(shape):
    x = torch.tensor([-0.5288255, 0.1, -3.3])[: shape[0]].reshape(shape).requires_grad_()
    x.norm(dim=-1).sum().backward()
    assert torch.equal(x.grad, x.detach().sign())


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_of_nothing_there_are_all_kernels(dtype):
    nothing = torch.zeros(0, 0, dtype=dtype)
    assert nothing.softmax(-1).dtype is nothing.log_softmax(0).dtype is dtype
    assert nothing.cummax(0).values.dtype is dtype
    assert (nothing @ nothing).dtype is torch.addmm(nothing, nothing, nothing).dtype is dtype


def test_vmap_refuses_distinct_values_and_complex_gradients():
    with pytest.raises(RuntimeError, match="dynamic shape. Attempted to vmap over aten::_unique2"):
        torch.vmap(torch.unique)(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got torch.complex64"):
        torch.vmap(torch.func.grad(lambda t: t))(torch.ones(2, dtype=torch.complex64))


def test_a_hook_on_a_view_leaves_its_gradient_to_it():
    leaf = torch.zeros(2, 3)[None].requires_grad_()
    view = leaf.unsqueeze(0)
    view.register_hook(lambda g: g * 2)
    leaf.detach().zero_()
    assert view.requires_grad
    view.sum().backward()
    assert torch.equal(leaf.grad, torch.full_like(leaf, 2.0))
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable"):
        view.add_(0)


def test_autocast_leaves_the_bias_of_samples_as_it_is():
    layer = torch.nn.Linear(4, 2)
    with torch.autocast("cpu"):
        for shape in ((3, 4), (3, 5, 4), (0, 4)):
            assert torch.vmap(layer)(torch.ones(shape)).dtype is torch.float32


HALF = torch.arange(12.0).reshape(3, 4).half()
REFUSED = "Unexpected floating ScalarType"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.roll(1),
        lambda x: x.roll(1, 0),
        lambda x: torch.fft.fftshift(x),
        lambda x: torch.combinations(x[0]),
        lambda x: torch.cat([x, x]),
    ],
)
def test_autocast_refuses_other_halves_where_parts_are_joined(call):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(RuntimeError, match=REFUSED):
            call(HALF)
        assert call(HALF.bfloat16()).dtype is torch.bfloat16
    with torch.autocast("cpu", dtype=torch.float16):
        assert call(HALF).dtype is torch.float16


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.block_diag(x, x),
        lambda x: torch.cross(x[:, :3], x[:, 1:], dim=1),
        lambda x: torch.nn.utils.rnn.pad_sequence([x, x[:2]]),
        torch.func.jacrev(lambda t: t * 2),
        torch.func.jacfwd(lambda t: t * 2),
        torch.func.hessian(lambda t: (t * t).sum()),
    ],
)
def test_what_is_joined_within_a_function_is_no_business_of_autocast(call):
    wanted = call(HALF)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = call(HALF)
    assert found.dtype is wanted.dtype is torch.float16
    assert torch.equal(found, wanted)


def test_attention_under_vmap_and_autocast_stays_in_its_type():
    q = torch.ones(2, 3, 4)
    with torch.autocast("cpu"):
        alone = F.scaled_dot_product_attention(q, q, q)
        mapped = torch.func.vmap(lambda t: F.scaled_dot_product_attention(t, t, t))(q)
    assert (alone.dtype, mapped.dtype) == (torch.bfloat16, torch.float32)


def test_functional_call_gives_a_parametrized_module_its_weight():
    module = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    before = {name: held.clone() for name, held in module.state_dict().items()}
    x, call = torch.ones(1, 2), torch.func.functional_call
    found = call(module, {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, (x,))
    torch.testing.assert_close(found, torch.full((1, 2), 2.0))
    torch.testing.assert_close(dict(module.state_dict()), before)
    module.name = "a"
    with pytest.raises(TypeError, match="attribute `name`: a is not an instance of torch.Tensor"):
        call(module, {"name": x}, (x,))
    with pytest.raises(TypeError, match="3 is not an instance of torch.Tensor"):
        call(module, {"bias": 3}, (x,))


@pytest.mark.parametrize(
    "size, steps", [((2, 2, 2), (0, 2, 1)), ((3, 2), (1, 1)), ((7, 2), (0, 1))]
)
@pytest.mark.parametrize("wrap", [False, True])
def test_a_diagonal_is_filled_where_memory_overlaps(size, steps, wrap):
    def step(t):
        t.fill_diagonal_(-3.0, wrap)
        return t * 1

    wanted = torch.arange(16.0)
    rows, count = min(size), 16 if wrap and len(size) == 2 else 0
    for k in range(rows):
        wanted[k * sum(steps)] = -3.0
    first = steps[0] * (size[1] + 1)
    for k in range(-(-size[0] * size[1] // (size[1] + 1)) - rows if count else 0):
        wanted[first + k * sum(steps)] = -3.0
    compiled = torch.compile(step)
    for f in (step,) if wrap else (step, compiled, compiled, compiled):
        memory = torch.arange(16.0)
        found = f(memory.as_strided(size, steps))
        assert torch.equal(memory, wanted)
        assert torch.equal(found, wanted.as_strided(size, steps))


def test_linear_refuses_bools_as_products_do():
    a = torch.tensor([[True, False]])
    for args in ((a, a), (a, a, a[0, :1]), (a[None], a)):
        with pytest.raises(NotImplementedError, match="addmm_impl_cpu_"):
            F.linear(*args)
        with pytest.raises(NotImplementedError, match="addmm_impl_cpu_"):
            torch.compile(F.linear)(*args)
    assert F.linear(a[:0], a).shape == (0, 1)


def test_weights_of_classes_that_no_gradient_reaches_are_refused():
    weight, labels = torch.ones(4, requires_grad=True), torch.tensor([0, 1, 2])
    text = "The function '{}' is not differentiable with respect to argument 'weight'"
    x = torch.zeros(3, 4)
    for call in (F.nll_loss, F.cross_entropy, torch.compile(F.cross_entropy)):
        with pytest.raises(RuntimeError, match=text.format("nll_loss_forward")):
            call(x, labels, weight)
        with torch.no_grad():
            call(x, labels, weight)
        call(x, labels, weight.detach())
    with pytest.raises(RuntimeError, match=text.format("nll_loss2d_forward")):
        F.nll_loss(x[..., None], labels[:, None], weight)
    F.cross_entropy(x, torch.ones(3, 4), weight).backward()  # of probabilities there is one
    assert weight.grad is not None
    counts = torch.bincount(labels, weights=weight[:3])
    assert counts.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::bincount is not implemented"):
        (counts.sum() + weight.sum()).backward()


def test_transforms_in_inference_mode_keep_what_was_made_there():
    x = torch.tensor([1.0, 2.0])
    with torch.inference_mode():
        c = x * 2
        assert torch.func.grad(lambda t: (t * c).sum())(x).tolist() == [2.0, 4.0]
        assert torch.func.jacrev(lambda t: t * c)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
        assert torch.func.vjp(lambda t: t * c, x)[1](x)[0].tolist() == [2.0, 8.0]
    assert torch.func.grad(lambda t: (t * c).sum())(x).tolist() == [2.0, 4.0]
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        torch.func.grad(lambda t: (t * c).sum())(w)


def test_a_vector_of_weights_has_no_bias_where_pytorch_multiplies_matrices():
    weight, bias = torch.ones(3), torch.ones(1)
    for x in (torch.ones(3), torch.ones(2, 3), torch.ones(2, 2, 3)):
        with pytest.raises(RuntimeError, match="mat2 must be a matrix, got 1-D tensor"):
            F.linear(x, weight, bias)
        assert F.linear(x, weight).flatten()[0] == 3
    with pytest.raises(RuntimeError, match="mat2 must be a matrix"):
        F.linear(torch.ones(2, 3), weight, torch.tensor(1.0))
    x = torch.ones(2, 2, 3)
    assert F.linear(x, weight, torch.tensor(1.0)).tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert F.linear(x.transpose(0, 1), weight, bias).tolist() == [[4.0, 4.0], [4.0, 4.0]]
