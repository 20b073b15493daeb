"""What PyTorch's argument parser, its layouts in memory and its older functions do, as single
facts.
"""

import copy
import gc
import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid import errors
from pellucid.nn import functional as F

# ---- losses with a number for the reduction ------------------------------------------------------
LOSSES = {
    "kl_div": lambda x: (x, x),
    "binary_cross_entropy_with_logits": lambda x: (x, x),
    "hinge_embedding_loss": lambda x: (x, x),
    "margin_ranking_loss": lambda x: (x, x, x),
    "triplet_margin_loss": lambda x: (x, x + 1, x),
    "cosine_embedding_loss": lambda x: (x, x, torch.ones(2)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_torch_take_numbers_and_reduce_nothing_by_default(name):
    loss, arguments = (
        getattr(torch, name),
        LOSSES[name](torch.tensor([[0.2, 0.7, 0.4], [0.9, 0.1, 0.3]])),
    )
    single = loss(*arguments)
    assert (
        single.ndim > 0
        and torch.equal(loss(*arguments, reduction=0), single)
        and torch.equal(loss(*arguments, reduction=7), single)
    )
    assert torch.allclose(loss(*arguments, reduction=1), single.mean())
    assert torch.allclose(loss(*arguments, reduction=2), single.sum())


def test_ctc_loss_of_torch_is_one_for_each_sequence():
    steps = torch.full((4, 2, 3), 1 / 3).log()
    lengths = torch.tensor([4, 4]), torch.tensor([1, 1])
    single = torch.ctc_loss(steps, torch.tensor([[1], [2]]), *lengths)
    assert single.shape == (2,)
    assert torch.allclose(
        torch.ctc_loss(steps, torch.tensor([[1], [2]]), *lengths, reduction=2), single.sum()
    )


def test_old_reduction_flags_are_truth_values():
    x = torch.tensor([1.0, 2.0])
    with pytest.warns(UserWarning, match="size_average and reduce"):
        assert torch.nn.functional.mse_loss(x, x + 2, size_average=0.5).item() == 4
    with pytest.warns(UserWarning, match="size_average and reduce"):
        assert torch.nn.functional.mse_loss(x, x + 2, size_average=0).item() == 8


# ---- layouts in memory ---------------------------------------------------------------------------
def _factors():
    x = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]]).repeat(2, 1, 1)
    linalg = torch.linalg
    yield from [
        linalg.inv(x),
        linalg.cholesky(x),
        linalg.solve(x, x),
        linalg.eigh(x)[1],
        linalg.eig(x)[1],
        linalg.lu_factor(x)[0],
    ]
    yield from [
        *linalg.qr(x),
        linalg.svd(x)[0],
        linalg.svd(x)[2],
        linalg.ldl_factor(x)[0],
        linalg.lstsq(x, x)[0],
    ]
    yield from [linalg.solve_triangular(x, x, upper=True), torch.geqrf(x)[0]]


def test_factors_lie_in_memory_column_after_column():
    assert {t.stride() for t in _factors()} == {(9, 1, 3)}


def test_positions_lie_in_memory_one_dimension_after_the_other():
    assert torch.nonzero(torch.ones(3, 4)).stride() == (1, 12)
    assert torch.argwhere(torch.zeros(3, 4)).stride() == (1, 1) or torch.argwhere(
        torch.zeros(3, 4)
    ).shape == (0, 2)
    assert torch.nonzero(torch.tensor([[0, 5], [6, 0]])).tolist() == [[0, 1], [1, 0]]


def test_out_of_another_shape_lies_as_the_result_does():
    out = torch.empty(0)
    torch.linalg.inv(torch.eye(3), out=out)
    assert out.stride() == (1, 3) and torch.equal(out, torch.eye(3))


def test_named_results_of_out_have_a_type_of_their_own():
    x = torch.tensor([2.0, 1.0])
    made = torch.sort(x, out=(torch.empty(2), torch.empty(2, dtype=torch.int64)))
    assert (
        type(made) is torch.return_types.sort_out and type(torch.sort(x)) is torch.return_types.sort
    )
    assert type(torch.slogdet(torch.eye(2))).__name__ == "slogdet"
    assert torch.unbind_copy(x, out=[torch.empty(()), torch.empty(())]) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x, out: torch.mm(x, x, out=out),
            "Expected out tensor to have dtype float, but got double instead",
        ),
        (lambda x, out: torch.floor(x, out=out), "Found dtype Double but expected Float"),
        (lambda x, out: torch.clamp_min(x, 0.5, out=out), "Found dtype Double but expected Float"),
        (
            lambda x, out: torch.t_copy(x, out=out),
            "Expected out tensor to have dtype float, but got double instead",
        ),
    ],
)
def test_out_of_another_type_is_refused(call, words):
    with pytest.raises(RuntimeError) as caught:
        call(torch.eye(2), torch.empty(2, 2, dtype=torch.float64))
    assert str(caught.value) == words


def outs(*dtypes):
    made = tuple(torch.empty(0, dtype=getattr(torch, dtype)) for dtype in dtypes)
    return made if len(made) > 1 else made[0]


X = torch.tensor([[1.0, 1.0], [2.0, 4.0]])
FIRST = torch.tensor([0])


@pytest.mark.parametrize(
    ("call", "dtypes", "words"),
    [
        (
            torch.sort,
            "float64 int64",
            "Expected out tensor to have dtype float, but got double instead",
        ),
        (
            torch.sort,
            "float32 int32",
            "Expected out tensor to have dtype long int, but got int instead",
        ),
        (
            lambda x, out: torch.topk(x, 1, out=out),
            "float32 int32",
            "Expected out tensor to have dtype long int, but got int instead",
        ),
        (
            lambda x, out: torch.kthvalue(x, 1, out=out),
            "float64 int64",
            "output values must be of same type as input",
        ),
        (
            lambda x, out: torch.kthvalue(x, 1, out=out),
            "float32 int32",
            "output indices must be of scalar type Long",
        ),
        (
            torch.mode,
            "float64 int64",
            "expected scalar type 'Float' but got 'Double' for values output",
        ),
        (
            torch.aminmax,
            "float64 float32",
            "Expected out tensor to have dtype float, but got double instead",
        ),
        (
            lambda x, out: torch.max(x, 0, out=out),
            "float64 int64",
            "Expected out tensor to have dtype float, but got double instead",
        ),
        (
            lambda x, out: torch.cummax(x, 0, out=out),
            "float32 int32",
            "expected scalar_type Long but found Int",
        ),
        (
            torch.frexp,
            "float32 int64",
            "torch.frexp() expects exponent to have int dtype but got long int",
        ),
        (
            torch.frexp,
            "float64 int32",
            "torch.frexp() expects mantissa to have dtype float but got double",
        ),
        (
            torch.slogdet,
            "float32 float64",
            "Expected out tensor to have dtype float, but got double instead",
        ),
        (
            torch.linalg.eig,
            "complex64 float32",
            "torch.linalg.eig: Expected eigenvectors to be safely castable from ComplexFloat dtype, but got eigenvectors with dtype Float",
        ),
        (
            torch.linalg.eigvals,
            "float32",
            "torch.linalg.eigvals: Expected eigenvalues to be safely castable from ComplexFloat dtype, but got eigenvalues with dtype Float",
        ),
        (
            torch.linalg.matrix_rank,
            "bool",
            "torch.linalg.matrix_rank: Expected result to be safely castable from Long dtype, but got result with dtype Bool",
        ),
        (torch.fft.fft, "float32", "fft expects a complex output tensor, but got Float"),
        (
            torch.fft.irfft,
            "complex64",
            "irfft expects a floating point output tensor, but got ComplexFloat",
        ),
        (
            lambda x, out: torch.logsumexp(x, 0, out=out),
            "int64",
            "logsumexp(): Expected floating point type for result tensor, but got: Long",
        ),
        (
            lambda x, out: torch.index_select(x, 0, FIRST, out=out),
            "float64",
            "index_select(): self and result must have the same scalar type",
        ),
        (
            lambda x, out: torch.take(x, FIRST, out=out),
            "float64",
            "take(): self and out expected to have the same dtype, but got self.dtype = Float and out.dtype = Double",
        ),
        (
            lambda x, out: torch.clamp(x, 0, 1, out=out),
            "float64",
            "Found dtype Double but expected Float",
        ),
        (
            lambda x, out: torch.ldexp(x, x, out=out),
            "int64",
            "ldexp can't be cast to the desired output type Long",
        ),
        (
            lambda x, out: torch.searchsorted(x[0], x, out=out),
            "int32",
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype Int and out_int32 flag is False",
        ),
    ],
)
def test_each_out_has_the_dtype_that_its_function_asks(call, dtypes, words):
    given = outs(*dtypes.split())
    with pytest.raises(RuntimeError) as caught:
        call(X, out=given)
    assert str(caught.value) == words
    for one in given if isinstance(given, tuple) else (given,):
        assert one.shape == (0,)  # refused before anything is written


def test_out_that_cannot_hold_joined_tensors_is_a_type_error():
    for join in (torch.cat, torch.stack, torch.vstack, torch.column_stack):
        with pytest.raises(TypeError) as caught:
            join([X, X], out=outs("int64"))
        assert (
            str(caught.value)
            == "torch.cat(): input types can't be cast to the desired output type Long"
        )


def test_tuples_of_out_of_another_length_are_refused():
    with pytest.raises(TypeError) as caught:
        torch.sort(X, out=(torch.empty(0),))
    assert str(caught.value) == "expected tuple of 2 elements but got 1"


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda x, out: torch.cat([x, x], out=out), "float64"),
        (lambda x, out: torch.logsumexp(x, 0, out=out), "float64"),
        (lambda x, out: torch.clamp(x, x, x, out=out), "float64"),
        (torch.fft.fft, "complex128"),
        (torch.linalg.eigvals, "complex128"),
    ],
)
def test_out_of_a_dtype_that_holds_the_result_is_written(call, dtype):
    given = outs(dtype)
    made = call(X, out=given)
    assert made is given and made.dtype is getattr(torch, dtype) and made.numel() > 0


def test_methods_take_no_out_where_pytorch_s_take_none():
    for call in (
        lambda: X.aminmax(out=outs("float32", "float32")),
        lambda: X.kthvalue(1, out=outs("float32", "int64")),
    ):
        with pytest.raises(TypeError, match="out"):
            call()


# ---- NumPy's arrays beside tensors ---------------------------------------------------------------
@pytest.mark.parametrize("handler", [False, True])
def test_equals_compares_with_the_elements_of_an_array(handler):
    if handler:  # the operators ask handlers from now on

        class Handler:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return NotImplemented

    x, a = torch.tensor([1.0, 2.0]), np.array([1.0, 3.0])
    for made in (x == a, a == x, x.requires_grad_() == a):
        assert isinstance(made, torch.Tensor) and made.tolist() == [True, False]
    assert (x == np.array([[1], [2]])).tolist() == [[True, False], [False, True]]
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x == np.ones(3)
    for other in (np.array(["a", "b"]), np.ones(2, object), np.ones(2, np.longdouble), [1.0, 2.0]):
        assert (x == other) is False
    assert (x != a) is True  # so says PyTorch
    with pytest.raises(TypeError, match="not supported between instances"):
        x < a


# ---- arguments of other types --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x: torch.cumsum(x, True),
            "cumsum(): argument 'dim' (position 2) must be int, not bool",
        ),
        (
            lambda x: x.cumsum(None),
            "cumsum(): argument 'dim' (position 1) must be int, not NoneType",
        ),
        (
            lambda x: torch.allclose(x, x, equal_nan="a"),
            "allclose(): argument 'equal_nan' must be bool, not str",
        ),
        (
            lambda x: torch.nanmedian(x, 0, keepdim=None),
            "nanmedian(): argument 'keepdim' must be bool, not NoneType",
        ),
        (
            lambda x: torch.isclose(x, x, 1.0, torch.tensor(1.0, requires_grad=True)),
            "isclose(): argument 'atol' (position 4) must be float, not Tensor",
        ),
    ],
)
def test_what_only_looks_like_an_argument_is_refused(call, words):
    with pytest.raises(TypeError) as caught:
        call(torch.ones(2, 2))
    assert str(caught.value) == words


def test_numbers_of_numpy_and_tensors_without_dimensions_are_taken():
    x = torch.ones(2, 2)
    for dim in (np.int64(0), torch.tensor(0)):
        assert torch.cumsum(x, dim).tolist() == [[1, 1], [2, 2]]


def test_a_tensor_without_dimensions_is_a_factor_in_the_old_signature(monkeypatch):
    monkeypatch.setattr(errors, "warn_always", True)
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.add(torch.tensor([1.0]), torch.tensor(2), torch.tensor([3.0])).tolist() == [7]


# ---- values --------------------------------------------------------------------------------------
def test_bernoulli_takes_a_number_for_the_probability():
    torch.manual_seed(3)
    first = torch.bernoulli(torch.ones(8), 0.5)
    torch.manual_seed(3)
    assert torch.equal(torch.bernoulli(torch.ones(8), torch.tensor(0.5)), first)
    with pytest.raises(TypeError, match="received an invalid combination"):
        torch.bernoulli(torch.ones(2), torch.tensor([0.5, 0.5]))


def test_complex_logcumsumexp_keeps_small_terms_before_large_ones():
    x = torch.tensor([1 + 1j, 1000 + 2j, complex(float("-inf"), 3)], dtype=torch.complex128)
    assert torch.allclose(
        torch.logcumsumexp(x, 0),
        torch.tensor([1 + 1j, 1000 + 2j, 1000 + 2j], dtype=torch.complex128),
    )
    infinite = torch.logcumsumexp(
        torch.tensor([complex(float("inf"), 1), complex(float("-inf"), 2)]), 0
    )
    assert infinite.imag.tolist() == [1, 1] and infinite.real.isinf().all()


def test_rank_of_gelsy_is_judged_by_columns():
    a = torch.tensor(
        [[1.45, 0.26, 0.33], [0.26, 1.53, 0.53], [0.33, 0.53, 1.42]], dtype=torch.float64
    )
    made = torch.linalg.lstsq(a, a, rcond=0.5)
    assert made.rank.item() == 2
    assert not torch.allclose(
        made.solution, torch.linalg.lstsq(a, a, rcond=0.5, driver="gelsd").solution
    )


# ---- gradients -----------------------------------------------------------------------------------
def test_sparse_gradients_stand_in_the_order_they_came():
    table = torch.nn.Embedding(10, 2, sparse=True)
    table(torch.tensor([7, 1])).sum().backward()
    table(torch.tensor([8, 1])).sum().backward()
    assert table.weight.grad._indices().tolist() == [[7, 1, 8, 1]]


def test_gradients_have_the_dtype_that_a_leaf_wants():
    x = torch.ones(2, requires_grad=True)
    assert x.grad_dtype is torch.float32
    x.grad_dtype = torch.float64
    (x * 2).sum().backward()
    assert x.grad.dtype is torch.float64 and x.grad.tolist() == [2, 2]
    assert torch.autograd.grad((x * 2).sum(), x)[0].dtype is torch.float64
    with pytest.raises(RuntimeError, match="already a gradient with dtype 'double'"):
        x.grad_dtype = torch.float16
    with pytest.raises(RuntimeError, match="to a tensor with grad_dtype 'Double'"):
        x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="can only be accessed on leaf tensors"):
        (x * 2).grad_dtype
    x.grad, x.grad_dtype = None, None
    x.grad = torch.ones(2, dtype=torch.float16)
    assert x.grad_dtype is None


def test_loading_leaves_no_cycles():
    model = torch.nn.LSTM(4, 4)
    state = copy.deepcopy(model).state_dict()
    gc.collect()
    model.load_state_dict(state)
    assert gc.collect() == 0


# ---- names ---------------------------------------------------------------------------------------
def test_masked_softmax():
    x, mask = (
        torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]),
        torch.tensor([[False, True, False], [True, True, True]]),
    )
    made = torch._masked_softmax(x, mask, 1, 2)
    assert (
        torch.allclose(made[0], torch.tensor([0.1192, 0.0, 0.8808]), atol=1e-4)
        and made[1].isnan().all()
    )
    keys = torch._masked_softmax(torch.zeros(2, 1, 3, 3), mask, 3, 1)
    assert keys[0, 0].tolist() == [[0.5, 0, 0.5]] * 3
    with pytest.raises(RuntimeError, match="Mask should be a boolean tensor"):
        torch._masked_softmax(x, mask.float())
    with pytest.raises(RuntimeError, match=r"mask shape should be \(B, L\)"):
        torch._masked_softmax(torch.zeros(3, 2), mask, 1, 1)


def test_add_relu():
    x = torch.tensor([-1.0, 2.0])
    assert torch._add_relu(x, 1).tolist() == [0, 3] and torch._VF._add_relu(
        x, x, alpha=2
    ).tolist() == [0, 6]
    assert torch._add_relu_(x, 1) is x and x.tolist() == [0, 3]


def test_parts_of_bags():
    weight, index, starts = torch.ones(5, 2), torch.tensor([1, 2, 4, 4, 3]), torch.tensor([0, 2, 2])
    found = [
        [t.tolist() for t in torch._embedding_bag(weight, index, starts, False, mode)[1:]]
        for mode in (0, 1, 2)
    ]
    bags, sizes = [0, 0, 2, 2, 2], [2, 0, 3]
    assert found == [
        [[], [0] * 3, [0] * 3],
        [bags, sizes, sizes],
        [bags, sizes, [[1, 1], [0, 0], [4, 4]]],
    ]
    with pytest.raises(
        RuntimeError, match="offsets has to be a 1D Tensor, but got Tensor of dimension 2"
    ):
        torch.embedding_bag(weight, index, torch.zeros(1, 1, dtype=torch.int64))


def test_functions_that_autograd_keeps():
    from pellucid.autograd._functions import Resize

    x = torch.ones(2, 3, requires_grad=True)
    (Resize.apply(x, (6,)) * torch.arange(6)).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError, match="requested resize to 2 x 2"):
        Resize.apply(x, (2, 2))


def test_products_by_groups():
    x, stack = torch.arange(24.0).reshape(6, 4), torch.stack([torch.eye(4), 2 * torch.eye(4)])
    ends = torch.tensor([2, 5], dtype=torch.int32)
    made = torch._grouped_mm(x, stack, ends)
    assert torch.equal(made, torch.cat([x[:2], 2 * x[2:5], torch.zeros(1, 4)]))
    assert torch.equal(torch.nn.functional.grouped_mm(stack, stack), stack @ stack)
    cut = torch._grouped_mm(
        torch.ones(4, 8), torch.ones(8, 4), torch.tensor([4, 8], dtype=torch.int32)
    )
    assert cut.shape == (2, 4, 4) and cut.unique().tolist() == [4]
    wide = torch._grouped_mm(stack, torch.ones(4, 8), torch.tensor([4, 8], dtype=torch.int32))
    assert wide[0].tolist() == [1] * 4 + [2] * 4
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        torch._grouped_mm(x, stack)
    with pytest.raises(RuntimeError, match="Offsets have to be int32"):
        torch._grouped_mm(x, stack, ends.long())


def test_products_of_scaled_matrices():
    a, b = torch.ones(4, 16).to(torch.float8_e4m3fn), torch.ones(8, 16).to(torch.float8_e4m3fn).t()
    made = torch._scaled_mm(a, b, torch.tensor(2.0), torch.tensor(0.5), out_dtype=torch.bfloat16)
    assert made.dtype is torch.bfloat16 and made.unique().tolist() == [16]


def test_thresholds_through_expanded_tensors():
    x = torch.tensor([[1.0, -1.0]]).expand(3, 2)
    assert torch.nn.functional.threshold_(x, 0.5, 7.0) is x and x.tolist() == [[1, 7]] * 3


def test_types_of_tensors():
    assert (
        torch.FloatTensor in torch._tensor_classes
        and not torch.LongTensor.is_sparse
        and not torch.LongTensor.is_cuda
    )


def test_adagrad_needs_the_shapes_of_its_sums():
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        torch.optim.Adagrad(torch.nn.LazyLinear(2).parameters())
    torch.optim.SGD(torch.nn.LazyLinear(2).parameters(), lr=0.1)


class Same(torch.nn.Module):
    def forward(self, x):
        return x


class Pair(Same):
    def right_inverse(self, x):
        return x, x


class Whole(Same):
    def right_inverse(self, x):
        return x.long()


class Shorter(Same):
    def right_inverse(self, x):
        return x[:-1]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Pair, "parametrization.right_inverse must return a tensor. Got: tuple"),
        (Whole, "returned dtype: torch.int64"),
        (Shorter, r"returned shape: torch.Size\(\[2, 2\]\)"),
    ],
)
def test_a_second_parametrization_goes_both_ways(other, words):
    module = torch.nn.Linear(2, 3)
    torch.nn.utils.parametrize.register_parametrization(module, "weight", Same())
    with pytest.raises(ValueError, match=words):
        torch.nn.utils.parametrize.register_parametrization(module, "weight", other())
    assert len(module.parametrizations.weight) == 1


@pytest.mark.parametrize("name", ["block_diag", "cartesian_prod", "meshgrid", "broadcast_tensors"])
def test_several_tensors_are_tensors_each(name):
    function = getattr(torch, name)
    with pytest.raises(TypeError, match="^expected Tensor as element 1 in argument 0, but got int"):
        function(torch.ones(2), 1)
    if name != "meshgrid":  # which alone takes a list
        with pytest.raises(
            TypeError, match="^expected Tensor as element 0 in argument 0, but got list"
        ):
            function([torch.ones(2), torch.ones(3)])


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_atleast_takes_a_tensor_or_a_list_of_tensors(name):
    function = getattr(torch, name)
    with pytest.raises(
        TypeError, match="^expected Tensor as element 0 in argument 0, but got list"
    ):
        function([[torch.ones(2)]])
    with pytest.raises(
        TypeError, match=r"but expected one of:\n \* \(Tensor input\)\n      didn't"
    ):
        function(1)
    assert function() == ()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x, d: torch.addmv(x[0].double(), x, x[0]),
            "addmv input tensors must have the same dtype, but got Double, Float, and Float",
        ),
        (
            lambda x, d: torch.addmv(x[0, :2], x, x[0, :2]),
            "size mismatch, got input (2), mat (3x3), vec (2)",
        ),
        (
            lambda x, d: torch.addbmm(x, d[None], x[None]),
            "mat1 and mat2 must have the same dtype, but got Double and Float",
        ),
        (
            lambda x, d: torch.chain_matmul(x, d),
            "multi_dot(): all tensors must have be the same dtype but tensor 0 is float and tensor 1 double",
        ),
        (lambda x, d: torch.chain_matmul(), "chain_matmul(): Expected one or more matrices"),
        (
            lambda x, d: torch.chain_matmul(x, 3),
            "expected Tensor as element 1 in argument 0, but got int",
        ),
        (
            lambda x, d: torch.block_diag(x, None),
            "expected Tensor as element 1 in argument 0, but got NoneType",
        ),
        (
            lambda x, d: torch.cartesian_prod(x[0], d[0]),
            "meshgrid expects all tensors to have the same dtype",
        ),
        (
            lambda x, d: torch.conv_tbc(x[None], d[None], x[0]),
            "self and mat2 must have the same dtype, but got Float and Double",
        ),
        (
            lambda x, d: torch.norm(x, 1j),
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm.",
        ),
        (
            lambda x, d: torch.norm(x, 2, keepdim="yes"),
            "linalg_vector_norm(): argument 'keepdim' (position 4) must be bool, not str",
        ),
        (lambda x, d: x.norm(axis=0), "Tensor.norm() got an unexpected keyword argument 'axis'"),
        (
            lambda x, d: torch.complex(x, x).istft("2"),
            "istft(): argument 'n_fft' (position 2) must be int, not str",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_refusals_of_products_lists_and_norms(call, text):
    x = torch.ones(3, 3)
    with pytest.raises((TypeError, RuntimeError)) as refused:
        call(x, x.double())
    assert str(refused.value) == text


@pytest.mark.filterwarnings("ignore:at..nuclear_norm")
def test_arguments_that_pytorch_takes():
    x = torch.arange(9.0).reshape(3, 3)
    assert torch.equal(torch.norm(x, torch.tensor(1.0)), x.abs().sum())
    assert torch.equal(torch.norm(x, np.float32(1)), x.abs().sum())
    assert torch.nuclear_norm(torch.eye(2), True).shape == (1, 1)
    assert torch.equal(torch.rsub(x, 1, 2), 1 - 2 * x)
    assert torch.special.softmax(x, 0, torch.float64).dtype == torch.float64
    w, b = torch.ones(1, 3, 2), torch.ones(2, dtype=torch.float64)
    made = torch.conv_tbc(x[None], w, b)
    assert made.dtype == torch.float32 and made.is_contiguous()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.channel_shuffle(x, 1),
        lambda x: torch.channel_shuffle(x, 6),
        lambda x: torch.pixel_unshuffle(x, 1),
        lambda x: torch.pixel_shuffle(x, 1),
    ],
)
def test_shuffles_that_move_nothing_copy(call):
    for x in (torch.zeros(2, 6, 2, 2), torch.zeros(6, 2, 2, 2).transpose(0, 1)):
        made = call(x)
        made.add_(1)
        assert made.is_contiguous() and not made._is_view() and x.sum() == 0


def test_layers_of_transposed_images_give_rows():
    x = torch.randn(3, 4, 5, 6).transpose(0, 1)
    for made in (F.adaptive_avg_pool2d(x, 2), F.avg_pool2d(x, 2), torch.channel_shuffle(x, 3)):
        assert made.is_contiguous()
    volumes = torch.randn(3, 4, 5, 6, 7).transpose(0, 1)
    assert F.adaptive_avg_pool3d(volumes, 2).is_contiguous()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_stft_of_halves_is_refused_as_the_transform_is(kind):
    name = {torch.float16: "Half", torch.bfloat16: "BFloat16"}[kind]
    with pytest.raises(
        RuntimeError, match=f"(?m)^MKL FFT doesn't support tensors of type: {name}$"
    ):
        torch.stft(
            torch.ones(12, dtype=kind), 4, window=torch.ones(4, dtype=kind), return_complex=True
        )


@pytest.mark.parametrize("mode, name", [("reflect", "reflection"), ("replicate", "replication")])
@pytest.mark.parametrize("kind", [torch.bool, torch.uint16, torch.float8_e5m2])
def test_continued_borders_have_no_kernel_for_some_dtypes(mode, name, kind):
    x = torch.ones(1, 2, 3, 4).to(kind)
    word = {torch.bool: "Bool", torch.uint16: "UInt16", torch.float8_e5m2: "Float8_e5m2"}[kind]
    with pytest.raises(
        NotImplementedError, match=f"^\"{name}_pad2d\" not implemented for '{word}'"
    ):
        F.pad(x, (1, 1, 1, 1), mode=mode)
    assert F.pad(x, (1, 1, 0, 0), mode="circular").shape == (1, 2, 3, 6)


def test_logsumexp_over_no_dimensions():
    x = torch.zeros(2, 3)
    with pytest.raises(
        RuntimeError, match=r"(?m)^output with shape \[\] doesn't match .* \[1, 1\]$"
    ):
        torch.logsumexp(x, [])
    assert torch.logsumexp(x, [], True).shape == (1, 1)
    assert torch.logsumexp(torch.zeros(()), []).item() == 0
    assert torch.logsumexp(torch.zeros(0, 3), []).shape == ()


def test_statistics_of_halves_beside_parameters_of_float32():
    x, w = torch.randn(2, 4, 3).bfloat16(), torch.ones(4)
    for half, weight in ((True, None), (True, w.bfloat16()), (False, w)):
        kind = torch.bfloat16 if half else torch.float32
        for made in (
            torch.native_group_norm(x, weight, weight, 2, 4, 3, 2, 1e-5),
            torch.native_batch_norm(x, weight, weight, None, None, True, 0.1, 1e-5),
        ):
            assert [t.dtype for t in made] == [torch.bfloat16, kind, kind]


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught]


def test_forms_with_out_warn_by_themselves():
    x, v = torch.eye(2), torch.ones(2)
    torch.set_warn_always(True)
    try:
        for name, args, times in (
            ("qr", (x,), (1, 1)),
            ("cholesky", (x,), (1, 2)),
            ("ger", (v, v), (0, 1)),
            ("frobenius_norm", (x, [0]), (1, 1)),
            ("nuclear_norm", (x,), (1, 1)),
            ("lu_solve", (x, *torch.linalg.lu_factor(x)), (1, 1)),
        ):
            function = getattr(torch, name)
            said = warned(lambda f=function, a=args: f(*a))
            out = torch.empty(0), torch.empty(0)
            both = warned(lambda f=function, a=args, o=out: f(*a, out=o if f is torch.qr else o[0]))
            assert (len(said), len(both)) == times, name
    finally:
        torch.set_warn_always(False)


def test_out_of_another_shape_lies_in_rows():
    a = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    out = torch.empty(0)
    torch.linalg.tensorinv(a.reshape(2, 1, 2), ind=1, out=out)
    assert out.is_contiguous()
    for size, rows in ((0, False), (3, True)):  # LAPACK's columns where nothing was there before
        out = torch.empty(size)
        assert len(warned(lambda o=out: torch.cholesky_inverse(a, out=o))) == rows
        assert out.is_contiguous() is rows
    out = torch.zeros(5)
    assert warned(lambda: torch.addbmm(a, a[None], a[None], out=out)) == []
    assert out.shape == (2, 2)
    text = warned(lambda: torch.fft.fftfreq(2, out=torch.zeros(3)))
    assert len(text) == 1 and text[0].startswith(
        "The number of elements in the out tensor of shape [3]"
    )


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda x: torch.nanquantile(x, torch.ones(3, 1)),
            "quantile() q must be a scalar or 1D tensor",
        ),
        (
            lambda x: torch.histogram(x, torch.tensor(1.5)),
            "torch.histogramdd: bins tensor should have one dimension, but got 0 dimensions in the bins tensor for dimension 0",
        ),
        (
            lambda x: x.histogram(torch.tensor(2)),
            (
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype float and bins "
                "for dimension 0 with dtype long int"
            ),
        ),
        (
            lambda x: x.reshape(1, 1, 3).t_(),
            "t_() expects a tensor with <= 2 dimensions, but self is 3D",
        ),
        (
            lambda x: x.masked_scatter_(torch.ones(3, 3, dtype=torch.bool), x),
            (
                "expand(CPUBoolType{[3, 3]}, size=[3]): the number of sizes provided (1) must be greater or equal to the number of "
                "dimensions in the tensor (2)"
            ),
        ),
        (
            lambda x: torch.linalg.ldl_solve(x, torch.ones(3, dtype=torch.int32), x),
            "torch.linalg.ldl_solve: The input tensor A must have at least 2 dimensions.",
        ),
    ],
)
def test_refusals_of_calls_spoilt_at_random(call, text):
    with pytest.raises(RuntimeError) as refused:
        call(torch.ones(3))
    assert str(refused.value) == text


@pytest.mark.parametrize("kind", [torch.uint16, torch.uint32, torch.uint64])
def test_wide_unsigned_integers_are_compared_with_others(kind):
    x = torch.tensor([1, 2]).to(kind)
    torch.testing.assert_close(x, torch.tensor([1, 2]), check_dtype=False)
    torch.testing.assert_close(torch.tensor([1.0, 2.0]), x, check_dtype=False)
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        torch.testing.assert_close(x, torch.tensor([1, 3]), check_dtype=False)
