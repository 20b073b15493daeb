"""Sums, means, extremes, norms, softmax: element types, empty tensors, NaN, ties, and what is
refused.
"""

import inspect
import math

import numpy as np
import pytest

import pellucid as torch

NAN, INF = math.nan, math.inf


def array(t):
    return t.detach().numpy()


# ---- element types ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers_are_summed_and_multiplied_in_int64(kind):
    x = torch.ones(300, dtype=getattr(torch, kind))
    assert x.sum().dtype is torch.int64 and x.sum().item() == 300
    assert x.prod().dtype is torch.int64
    assert x.cumsum(0).dtype is torch.int64 and x.cumsum(0)[-1].item() == 300


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_two_byte_floats_are_added_in_float32(kind):
    # Added one by one in the type itself, the sum would stop at 2048 (float16) or 256 (bfloat16).
    x = torch.ones(4096, dtype=getattr(torch, kind))
    assert x.sum().dtype is x.dtype
    assert x.sum().item() == 4096
    assert x.mean().item() == 1
    assert x.cumsum(0)[-1].item() == 4096
    assert (x @ x).item() == 4096
    assert torch.softmax(x, 0).dtype is x.dtype


def test_a_dtype_is_converted_to_before_reducing():
    x = torch.tensor([200, 100], dtype=torch.uint8)
    assert x.sum(dtype=torch.float32).dtype is torch.float32
    assert x.sum(dtype=torch.uint8).item() == 44
    assert x.mean(dtype=torch.float64).item() == 150
    assert torch.softmax(x, 0, dtype=torch.float64).dtype is torch.float64


def test_means_of_integers_are_refused():
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        torch.arange(3).mean()
    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        torch.softmax(torch.arange(3), 0)


def test_truth_of_bytes_is_bytes():
    x = torch.tensor([0, 3], dtype=torch.uint8)
    assert x.all().dtype is torch.uint8 and x.any().dtype is torch.uint8
    assert torch.tensor([NAN]).all().item() is True


def test_long_sums_in_single_precision_keep_their_digits():
    x = np.random.default_rng(0).random((50_003, 4), dtype=np.float32)
    want = x.astype(np.float64).sum(0)
    t = torch.from_numpy(x)
    for got in (t.sum(0), t.T.sum(-1), t.mean(0) * len(x)):
        np.testing.assert_allclose(array(got), want, rtol=2e-6)


def test_results_can_be_pickled():
    import pickle

    result = torch.tensor([[1.0, 2.0]]).max(dim=1)
    back = pickle.loads(pickle.dumps(result))
    assert type(back) is type(result) and back.indices.equal(result.indices)


# ---- dimensions -------------------------------------------------------------------------------
def test_dimensions_are_numbers_lists_or_numpys_words():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert x.sum(-1).shape == (2, 3)
    assert x.sum((0, 2)).shape == (3,)
    assert x.sum([]).shape == ()
    assert x.sum(axis=1, keepdims=True).shape == (2, 1, 4)
    assert x.amax().item() == 23 and x.amax(dim=(0, 1)).shape == (4,)
    assert torch.tensor(3.0).sum(0).item() == 3
    with pytest.raises(
        IndexError,
        match=r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)",
    ):
        x.sum(3)
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        x.sum((0, -3))
    with pytest.raises(TypeError):
        x.sum(1, sideways=True)
    with pytest.raises(TypeError):
        torch.sum("text")


# ---- nothing to reduce ------------------------------------------------------------------------
def test_sums_of_nothing_and_extremes_of_nothing():
    empty = torch.zeros(0, 3)
    assert empty.sum().item() == 0 and empty.prod().item() == 1
    assert math.isnan(empty.mean().item())
    assert empty.sum(0).tolist() == [0, 0, 0]
    assert torch.logsumexp(empty, 0).tolist() == [-INF] * 3
    assert empty.amax(1).shape == (0,)
    with pytest.raises(
        RuntimeError, match="Expected reduction dim to be specified for input.numel"
    ):
        empty.max()
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        empty.max(0)
    with pytest.raises(IndexError):
        empty.argmax()


# ---- NaN and ties -----------------------------------------------------------------------------
def test_nan_is_the_largest_and_the_smallest():
    x = torch.tensor([1.0, NAN, 3.0, NAN])
    assert math.isnan(x.max()) and math.isnan(x.min()) and math.isnan(x.amax())
    assert x.max(0).indices.item() == 1 and x.min(0).indices.item() == 1
    assert x.argmax().item() == 1
    assert math.isnan(x.median()) and x.nanmedian().item() == 1
    assert x.nansum().item() == 4 and x.nanmean().item() == 2
    assert x.sort().values[:2].tolist() == [1, 3]
    assert x.cummax(0).indices.tolist() == [0, 1, 1, 3]


def test_ties_share_the_gradient_except_where_an_index_says_who_won():
    def gradient(f):
        x = torch.tensor([3.0, 1.0, 3.0], requires_grad=True)
        f(x).backward()
        return x.grad.tolist()

    assert gradient(lambda x: x.amax()) == [0.5, 0, 0.5]
    assert gradient(lambda x: x.max()) == [0.5, 0, 0.5]
    assert gradient(lambda x: x.max(0).values) == [1, 0, 0]
    assert gradient(lambda x: torch.linalg.vector_norm(x, INF)) == [0.5, 0, 0.5]
    assert gradient(lambda x: x.median()) == [0.5, 0, 0.5]
    assert gradient(lambda x: x.median(0).values) in ([1, 0, 0], [0, 0, 1])


def test_results_have_names():
    result = torch.tensor([[1.0, 2.0]]).max(dim=1)
    assert type(result)._fields == ("values", "indices")
    assert repr(result) == "torch.return_types.max(\nvalues=tensor([2.]),\nindices=tensor([1]))"
    values, indices = torch.sort(torch.tensor([2, 1]))
    assert values.tolist() == [1, 2] and indices.tolist() == [1, 0]


def test_max_of_two_tensors_and_out():
    a, b = torch.tensor([1.0, 5.0]), torch.tensor([4.0, 2.0])
    assert torch.max(a, b).tolist() == [4, 5] and torch.min(a, other=b).tolist() == [1, 2]
    values, indices = torch.empty(1), torch.empty(1, dtype=torch.int64)
    torch.max(a.unsqueeze(0), 1, out=(values, indices))
    assert values.tolist() == [5] and indices.tolist() == [1]


# ---- gradients at awkward places --------------------------------------------------------------
def test_products_with_zeros_are_differentiable_twice():
    x = torch.tensor([2.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    assert g.tolist() == [0, 6, 0]
    (h,) = torch.autograd.grad(g[1], x)
    assert h.tolist() == [3, 0, 2]
    (c,) = torch.autograd.grad(x.cumprod(0)[2], x)
    assert c.tolist() == [0, 6, 0]


def test_norms_and_deviations_at_zero():
    for f in (lambda x: x.norm(), lambda x: x.norm(3), lambda x: x.std(), lambda x: x.norm(1)):
        x = torch.zeros(3, requires_grad=True)
        f(x).backward()
        assert x.grad.tolist() == [0, 0, 0]


def test_logsumexp_and_softmax_do_not_overflow():
    x = torch.tensor([1000.0, 1000.0, -INF], requires_grad=True)
    y = torch.logsumexp(x, 0)
    y.backward()
    assert y.item() == pytest.approx(1000 + math.log(2))
    # float32 near 1000 has 4 digits left
    np.testing.assert_allclose(array(x.grad), [0.5, 0.5, 0], rtol=1e-4)
    assert torch.softmax(x, 0).tolist() == [0.5, 0.5, 0]
    assert torch.log_softmax(x, 0)[2].item() == -INF
    assert torch.logsumexp(torch.tensor([-INF, -INF]), 0).item() == -INF
    assert torch.logsumexp(torch.tensor([INF, 1.0]), 0).item() == INF
    assert torch.logcumsumexp(torch.tensor([1000.0, 1000.0]), 0).tolist() == pytest.approx(
        [1000, 1000 + math.log(2)]
    )


# ---- variance ---------------------------------------------------------------------------------
def test_variance_in_its_many_forms():
    x = np.random.default_rng(0).standard_normal((4, 5))
    t = torch.from_numpy(x)
    for form, ddof, axis in (
        (t.var(), 1, None),
        (t.var(False), 0, None),
        (t.var(1), 1, 1),
        (t.var(1, False), 0, 1),
        (t.var(1, unbiased=True), 1, 1),
        (t.var(dim=(0, 1), correction=2), 2, None),
        (t.var(1, correction=0), 0, 1),
    ):
        np.testing.assert_allclose(array(form), x.var(axis=axis, ddof=ddof), rtol=1e-12)
    std, mean = torch.std_mean(t, 0, keepdim=True)
    assert std.shape == mean.shape == (1, 5)
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert math.isnan(torch.ones(1).var())


# ---- order statistics -------------------------------------------------------------------------
def test_quantiles_against_numpy():
    x = np.random.default_rng(1).standard_normal((4, 7))
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        got = torch.quantile(
            torch.from_numpy(x),
            torch.tensor([0.1, 0.5], dtype=torch.float64),
            dim=1,
            interpolation=method,
        )
        np.testing.assert_allclose(array(got), np.quantile(x, [0.1, 0.5], axis=1, method=method))
    with pytest.raises(RuntimeError, match="q must be in the range"):
        torch.quantile(torch.ones(3), 1.5)


def test_mode_takes_the_smallest_of_the_most_frequent():
    values, indices = torch.tensor([[2, 1, 2, 1, 3], [5, 5, 4, 3, 3]]).mode()
    assert values.tolist() == [1, 3]
    assert indices.tolist() == [3, 4]


def test_kthvalue_counts_from_one():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    x.kthvalue(2).values.backward()
    assert x.grad.tolist() == [0, 0, 1]
    with pytest.raises(RuntimeError, match="selected number k out of range"):
        x.kthvalue(4)


def test_renorm_leaves_small_slices_alone():
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(array(x.renorm(2, 0, 1.0)), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_in_place_scans():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert x.cumsum_(0) is x and x.tolist() == [1, 3, 6]
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        leaf.cumsum_(0)


def test_differences_and_integrals():
    x = np.array([1.0, 4.0, 9.0, 16.0])
    t = torch.from_numpy(x)
    np.testing.assert_allclose(array(torch.diff(t, 2)), np.diff(x, 2))
    assert torch.diff(torch.tensor([True, False, False])).tolist() == [True, False]
    np.testing.assert_allclose(array(torch.gradient(t, spacing=2.0)[0]), np.gradient(x, 2.0))
    np.testing.assert_allclose(array(torch.trapezoid(t, t)), np.trapezoid(x, x))
    assert torch.cumulative_trapezoid(t).tolist() == [2.5, 9, 21.5]


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,), (2, 0)])
def test_any_and_all_of_everything(shape):
    for fill in (False, True):
        x = np.full(shape, fill)
        for k in range(-1, min(x.size, 6)):
            y = x.copy()
            if k >= 0:
                y.flat[k] = not fill
            for z in (y, y.T, np.repeat(y, 2, 0)[::2] if shape else y):
                t = torch.from_numpy(z)
                assert t.any().item() is bool(z.any()) and t.all().item() is bool(z.all())
                assert t.any().dtype is t.all().dtype is torch.bool and t.any().shape == ()


@pytest.mark.filterwarnings("ignore:(var|std).*degrees of freedom is <= 0")
@pytest.mark.parametrize("correction", [5, 70000, 1e6])
def test_gradients_of_variances_with_a_correction_above_the_count(correction):
    # The value is infinite; PyTorch's gradient is the formula with the negative divisor.
    for kind, tolerance in ((torch.float16, 0.02), (torch.float32, 1e-5)):
        x = torch.tensor([1.0, 2.0, 4.0, 8.0], dtype=kind, requires_grad=True)
        value = x.var(correction=correction)
        (g,) = torch.autograd.grad(value, x)
        assert value == INF
        want = [2 / (4 - correction) * (v - 3.75) for v in (1.0, 2.0, 4.0, 8.0)]
        np.testing.assert_allclose(
            array(g).astype(np.float64),
            want,
            rtol=tolerance,
            atol=1e-6 if kind == torch.float16 else 0,
        )
        (g,) = torch.autograd.grad(x.std(correction=correction), x)
        assert g.tolist() == [0.0] * 4


def test_the_default_of_correction_is_shown_as_a_number():
    for function in (torch.var, torch.std, torch.var_mean, torch.std_mean):
        assert "correction: 'Any' = 1" in str(inspect.signature(function))


def test_the_gradient_of_a_largest_element_that_is_nan():
    """No element equals the norm, so none gets a share of its gradient."""
    for order in (float("inf"), -float("inf")):
        for dim in (1, None):
            x = torch.tensor([[1.0, float("nan")], [3.0, 3.0]], requires_grad=True)
            torch.linalg.vector_norm(x, order, dim).sum().backward()
            assert x.grad.tolist() == [[0, 0], [0, 0] if dim is None else [0.5, 0.5]]
