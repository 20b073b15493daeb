"""Small differences from PyTorch that were found by comparing the two: what is refused and with
which words, dtypes, gradients.
"""

from __future__ import annotations

import re

import pytest

import pellucid as torch
from pellucid import errors


def leaf(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


# ---- gradients that do not exist, and those that are zero ---------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.heaviside(x, torch.tensor(0.5)), "derivative for aten::heaviside is not implemented"),
        (lambda x: torch.heaviside(torch.zeros(2), x), "derivative for aten::heaviside is not implemented"),
        (lambda x: torch.histogram(x, 3).hist, "derivative for aten::histogram is not implemented"),
        (lambda x: torch.histogram(x, 3).bin_edges, "derivative for aten::histogram is not implemented"),
        (lambda x: torch.histogram(torch.ones(2), x).hist, "derivative for aten::histogram is not implemented"),
        (lambda x: torch.histogram(torch.ones(2), 3, weight=x).hist, "derivative for aten::histogram is not implemented"),
        (lambda x: torch.histogramdd(x.reshape(1, 2), [2, 2]).hist, "derivative for aten::_histogramdd_from_bin_cts is not implemented"),
        (
            lambda x: torch.histogramdd(torch.ones(2, 1), [x]).bin_edges[0],
            "derivative for aten::_histogramdd_from_bin_tensors is not implemented",
        ),
        (lambda x: torch.geqrf(x.reshape(1, 2)).a, "the derivative for 'geqrf' is not implemented."),
        (lambda x: torch.geqrf(x.reshape(1, 2)).tau, "the derivative for 'geqrf' is not implemented."),
        (lambda x: torch.linalg.ldl_factor(x.diag()).LD, "derivative for aten::linalg_ldl_factor_ex is not implemented"),
    ],
)  # fmt: skip
def test_a_backward_that_has_no_rule_is_refused(call: object, message: str) -> None:
    result = call(leaf(1.0, 2.0))  # type: ignore[operator]
    assert result.requires_grad
    with pytest.raises(NotImplementedError if "geqrf" in message else RuntimeError, match=message):
        result.sum().backward()
    with torch.no_grad():
        assert not call(leaf(1.0, 2.0)).requires_grad  # type: ignore[operator]


def test_a_backward_through_heaviside_is_refused_compiled_too() -> None:
    step = torch.compile(lambda x: torch.heaviside(x * 2, torch.ones(2)).sum())
    with pytest.warns(UserWarning, match="runs eagerly: its gradient raises"):
        results = [step(leaf(1.0, 2.0)) for _ in range(4)]
    for result in results:
        with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
            result.backward()


def test_normal_has_a_gradient_of_zero_for_its_parameters() -> None:
    mean, std = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for drawn in (
        torch.normal(mean, 1.0),
        torch.normal(0.0, std),
        torch.normal(mean, std),
        torch.normal(mean.reshape(2, 1), std),
    ):
        assert drawn.requires_grad
        drawn.sum().backward()
    assert mean.grad.tolist() == std.grad.tolist() == [0.0, 0.0]


def test_a_gradient_with_a_graph_is_added_to_in_place() -> None:
    x = leaf(1.0, 2.0)
    (x**3).sum().backward(create_graph=True)
    held = x.grad
    assert held.requires_grad
    (x**2).sum().backward()
    assert x.grad is held and held.requires_grad
    assert held.tolist() == [5.0, 16.0]


def test_a_gradient_with_a_graph_is_nobody_elses_tensor() -> None:
    x, seed = leaf(1.0, 2.0), torch.ones(2)
    (x * 1 + 0).backward(seed, create_graph=True)
    x.reshape(2).backward(seed, create_graph=True)
    y = leaf(1.0, 2.0)
    (y + 0).backward(seed, create_graph=True)
    (y * 2).sum().backward()
    assert seed.tolist() == [1.0, 1.0] and y.grad.tolist() == [3.0, 3.0]


# ---- dtypes -------------------------------------------------------------------------------------
def test_ldexp_is_exact_in_the_numbers_own_dtype() -> None:
    double = torch.float64
    x = leaf(2.0**-1000, dtype=double)
    y = torch.ldexp(x, torch.tensor([1040]))
    assert y.tolist() == [2.0**40]
    assert torch.ldexp(torch.tensor([2.0**-100]), torch.tensor([140])).tolist() == [2.0**40]
    for kind in (torch.float16, torch.bfloat16):
        made = torch.ldexp(torch.tensor([2.0**-10], dtype=kind), torch.tensor([17]))
        assert made.dtype is kind and made.tolist() == [128.0]
    z = leaf(3.0, dtype=double)
    torch.ldexp(z, torch.tensor([[200], [201]])).sum().backward()
    assert z.grad.tolist() == [3 * 2.0**200]
    step = torch.compile(lambda x, k: torch.ldexp(x * 2, k))
    assert [
        step(torch.ones(2, dtype=double), torch.tensor([200, 3])).tolist() for _ in range(4)
    ] == [[2.0**201, 16.0]] * 4


def test_the_dtype_of_an_integral_over_one_sample_or_none() -> None:
    one = torch.ones(1, dtype=torch.int64)
    assert torch.trapezoid(one).dtype is torch.cumulative_trapezoid(one).dtype is torch.float32
    assert torch.trapezoid(one[:0].to(torch.int8)).dtype is torch.int8
    assert torch.trapezoid(torch.ones(1, dtype=torch.float16)).dtype is torch.float16
    assert torch.cumulative_trapezoid(one[:0]).dtype is torch.float32
    with pytest.raises(
        RuntimeError, match="trapezoid: received a bool input for `y`, but bool is not supported"
    ):
        torch.trapezoid(one.bool())


# ---- what is refused ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["amax", "amin"])
@pytest.mark.parametrize("kind", [torch.float64, torch.int64, torch.float16, torch.complex64])
def test_out_of_an_extreme_has_the_inputs_dtype(name: str, kind: torch.dtype) -> None:
    extreme = getattr(torch, name)
    title = str(torch.empty(0, dtype=kind).type()).rsplit(".", 1)[-1].removesuffix("Tensor")
    with pytest.raises(
        RuntimeError,
        match=f"Expected the dtype for input and out to match, but got Float for input's dtype and {title}",
    ):
        extreme(torch.ones(2), 0, out=torch.empty((), dtype=kind))
    out = torch.empty(())
    assert extreme(torch.ones(2), 0, out=out) is out and out == 1


def test_topk_of_bools_is_refused() -> None:
    with pytest.raises(RuntimeError, match="topk does not support bool dtypes on CPU"):
        torch.topk(torch.tensor([True, False]), 1)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        torch.topk(torch.tensor([True, False]), 3)


def test_a_scalar_has_no_dimension_to_unflatten() -> None:
    for call in (
        lambda: torch.unflatten(torch.tensor(1.0), 0, (1, 1)),
        lambda: torch.nn.Unflatten(0, (1,))(torch.tensor(1.0)),
    ):
        with pytest.raises(RuntimeError, match="unflatten got an unexpected error:"):
            call()


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_of_bools_are_refused(name: str) -> None:
    function = getattr(torch, name)
    bools = torch.tensor([True, False])
    step = torch.compile(lambda a, b: function(a, b))
    for call in (function, step, step, step, step):
        for other in (torch.tensor([True, True]), True):
            with pytest.raises(
                NotImplementedError, match=f"\"{name}_cpu\" not implemented for 'Bool'"
            ):
                call(bools, other)
    assert function(bools, 2).tolist() == [1, 0]


# ---- in-place operations that read what they write ----------------------------------------------
READ = (
    "some elements of the input tensor and the written-to tensor refer to a single memory location"
)


def _grid() -> torch.Tensor:
    return torch.arange(16.0).reshape(4, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[:-1].add_(x[1:]),
        lambda x: x[1:].mul_(x[:-1]),
        lambda x: x.sub_(x.T),
        lambda x: x.div_(x[0]),
        lambda x: x.add_(x[0, 0]),
        lambda x: x[:-1].copy_(x[1:]),
        lambda x: x[:-1].pow_(x[1:]),
        lambda x: x[:-1].eq_(x[1:]),
        lambda x: x[:-1].clamp_(min=x[1:]),
        lambda x: x[:-1].lerp_(x[1:], 0.5),
        lambda x: x[:-1].addcmul_(x[1:], torch.ones(1)),
        lambda x: x.detach().add_(x.T),
        lambda x: x.scatter_add_(0, torch.zeros(4, 4, dtype=torch.int64), x),
        lambda x: x.scatter_(0, torch.zeros(4, 4, dtype=torch.int64), x.T),
        lambda x: x.scatter_reduce_(0, torch.zeros(4, 4, dtype=torch.int64), x, "sum"),
        lambda x: x.index_add_(0, torch.arange(4), x),
        lambda x: x.index_copy_(0, torch.arange(4), x),
        lambda x: x.index_put_((torch.arange(3),), x[1:]),
    ],
)
def test_an_operation_in_place_that_reads_what_it_writes_is_refused(call: object) -> None:
    x = _grid()
    with pytest.raises(RuntimeError, match=READ):
        call(x)  # type: ignore[operator]
    assert torch.equal(x, _grid())


def test_an_augmented_assignment_of_a_shifted_part_is_refused() -> None:
    x = torch.arange(6.0)
    with pytest.raises(RuntimeError, match=READ):
        x[:-1] += x[1:]
    step = torch.compile(lambda x: x[:-1].add_(x[1:]))
    for _ in range(4):
        with pytest.raises(RuntimeError, match=READ):
            step(x)
    add = torch.compile(lambda x, y: x.add_(y))
    for _ in range(3):
        add(torch.ones(4), torch.ones(4))
    for _ in range(3):
        with pytest.raises(RuntimeError, match=READ):
            add(x[:4], x[2:])
    mask = torch.tensor([True, False, True])
    with pytest.raises(RuntimeError, match=READ):
        mask[:-1].masked_fill_(mask[1:], False)


def test_operations_in_place_that_read_the_same_elements_others_or_one_are_accepted() -> None:
    x = _grid()
    x.mul_(x).add_(x)
    x[:, 1:] += x[:, 1:]
    x[:, :-1] += x[:, 1:]  # with gaps: PyTorch does not look either
    flat = _grid().reshape(-1)
    flat[::2] += flat[1::2]
    flat[:8] += flat[8:]
    assert flat[:2].tolist() == [18.0, 10.0]
    y = _grid()
    y.masked_fill_(y > 3, y[0, 1])
    y.index_fill_(0, torch.tensor([0]), y[0, 2])
    y[y < 2] = y[0, 0]
    y.addmm_(torch.eye(4), torch.ones(4, 4))
    mask = torch.tensor([True, False])
    assert mask.masked_fill_(mask, False).tolist() == [False, False]
    assert y[0].tolist() == [3.0] * 4


# ---- norms and pooling --------------------------------------------------------------------------
def test_statistics_that_do_not_fit_are_refused_by_the_norms() -> None:
    functional = torch.nn.functional
    x, three = torch.ones(2, 3, 4), torch.ones(3)
    for name in ("running_mean", "running_var"):
        held = {"running_mean": torch.ones(3), "running_var": torch.ones(3), name: torch.ones(2)}
        for use in (True, False):
            with pytest.raises(RuntimeError, match=f"{name} should contain 6 elements not 4"):
                functional.instance_norm(x, **held, use_input_stats=use)
        with pytest.raises(ValueError, match="must either both be None or neither be None"):
            functional.instance_norm(x, **{name: three})
    for name in ("weight", "bias"):
        with pytest.raises(RuntimeError, match=f"{name} should contain 6 elements not 8"):
            functional.instance_norm(x, **{name: torch.ones(4)})
    with pytest.raises(RuntimeError, match="to be defined when use_input_stats is false"):
        functional.instance_norm(x, use_input_stats=False)
    with pytest.raises(RuntimeError, match="running_var must be defined in evaluation mode"):
        functional.batch_norm(x, three, None)
    with pytest.raises(ValueError, match="must either both be None or neither be None"):
        functional.batch_norm(x, three, None, training=True)


@pytest.mark.parametrize("name", ["adaptive_avg_pool1d", "adaptive_max_pool1d"])
def test_an_adaptive_result_that_no_memory_holds_is_refused_at_once(name: str) -> None:
    pool = getattr(torch.nn.functional, name)
    with pytest.raises(
        RuntimeError, match="can't allocate memory: you tried to allocate 4503599627370496 bytes"
    ):
        pool(torch.ones(1, 1, 4), 2**50)
    with pytest.raises(RuntimeError, match="integer multiplication overflow"):
        pool(torch.ones(1, 1, 4), 2**62)


# ---- element types of losses and norms, and sources that do not fit -----------------------------
HALVES = [torch.float16, torch.bfloat16]
FLOATS = [*HALVES, torch.float32, torch.float64]


@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("kind", FLOATS)
def test_losses_of_mixed_types_have_the_type_of_one_of_them(
    kind: torch.dtype, target: torch.dtype, reduction: str
) -> None:
    functional = torch.nn.functional
    x, y = leaf(0.5, -1.0, 2.0, dtype=kind), torch.tensor([1.0, 0.0, 1.0], dtype=target)
    for loss, wanted in (
        (functional.soft_margin_loss, kind),
        (functional.binary_cross_entropy_with_logits, target),
    ):
        found = loss(x, y, reduction=reduction)
        assert found.dtype is wanted
        same = loss(x.double(), y.double(), reduction=reduction)
        assert torch.allclose(found.double(), same, rtol=2e-2)
        (gradient,) = torch.autograd.grad(found.sum(), x)
        assert gradient.dtype is kind
    weighted = functional.binary_cross_entropy_with_logits(
        x, y, pos_weight=torch.tensor(2.0, dtype=target), reduction=reduction
    )
    assert weighted.dtype is target


@pytest.mark.parametrize("kind", HALVES)
def test_instance_norm_keeps_the_type_of_two_byte_images(kind: torch.dtype) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).to(kind)
    assert torch.nn.InstanceNorm1d(3, affine=True)(x).dtype is kind


@pytest.mark.parametrize(
    ("image", "weight"),
    [(torch.float32, torch.float16), (torch.float32, torch.float64), (*HALVES,)],
)
def test_instance_norm_refuses_parameters_of_another_type(
    image: torch.dtype, weight: torch.dtype
) -> None:
    with pytest.raises(
        RuntimeError, match=r"mixed dtype \(CPU\): expect parameter to have scalar type of Float"
    ):
        torch.nn.functional.instance_norm(
            torch.ones(2, 3, 4, dtype=image), weight=torch.ones(3, dtype=weight)
        )


def test_group_norm_refuses_a_number_for_its_weight() -> None:
    with pytest.raises(
        TypeError, match=r"group_norm\(\): argument 'bias' \(position 4\) must be Tensor, not int"
    ):
        torch.nn.functional.group_norm(torch.ones(2, 3), 1, bias=2)


@pytest.mark.parametrize("size", [(5, 10, 2), (6, 10, 5), (5, 10)])
def test_index_reduce_refuses_a_source_of_other_sizes(size: tuple[int, ...]) -> None:
    at = torch.zeros(10, dtype=torch.int64)
    with pytest.raises(
        RuntimeError,
        match="source tensor shape must match self tensor shape, excluding the specified dimension",
    ):
        torch.zeros(5, 5, 5).index_reduce(1, at, torch.zeros(size), "mean")
    with pytest.raises(
        RuntimeError,
        match=r"Number of indices \(10\) should be equal to source.size\(dim\): \(9\), for dim: 1",
    ):
        torch.zeros(5, 5, 5).index_reduce(1, at, torch.zeros(5, 9, 5), "mean")


# ---- values, dtypes and shapes ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("alpha", "expected"), [(0, [True, False]), (2, [True, True]), (True, [True, True])]
)
def test_alpha_of_booleans_keeps_the_sum_a_boolean(alpha: object, expected: list[bool]) -> None:
    x, y = torch.tensor([True, False]), torch.tensor([True, True])
    for result in (
        torch.add(x, y, alpha=alpha),
        torch.add(x, True, alpha=alpha),
        x.clone().add_(y, alpha=alpha),
    ):
        assert result.dtype is torch.bool and result.tolist() == expected


def test_rsub_takes_a_boolean_alpha_of_booleans_only() -> None:
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.rsub(torch.ones(2), torch.ones(2), alpha=True)


def test_autocast_leaves_products_with_vectors_alone() -> None:
    x, m = torch.ones(3), torch.ones(2, 3)
    with torch.autocast("cpu"):
        assert {r.dtype for r in (x.dot(x), x.vdot(x), x.inner(x), m.mv(x))} == {torch.float32}
        assert {r.dtype for r in (m.inner(m), m.mm(m.T), m @ x)} == {torch.bfloat16}


@pytest.mark.parametrize("shape", [(1, 1, 1, 0, 0), (1, 3, 0, 2), (0, 3, 4, 2)])
def test_pixel_unshuffle_leaves_an_empty_tensor_as_it_is(shape: tuple[int, ...]) -> None:
    assert torch.nn.functional.pixel_unshuffle(torch.ones(shape), 2).shape == shape


def test_a_resized_out_stays_in_its_memory_where_that_has_room() -> None:
    base = torch.zeros(6)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(torch.ones(3), 1.0, out=base[1:3])
    assert base.tolist() == [0.0, 2.0, 2.0, 2.0, 0.0, 0.0]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(torch.ones(6), 1.0, out=base[1:3])
    assert base.tolist() == [0.0, 2.0, 2.0, 2.0, 0.0, 0.0]


# ---- refused, with PyTorch's class of error -----------------------------------------------------
@pytest.mark.parametrize(
    "name",
    "gelu silu mish softplus hardswish hardsigmoid elu selu celu leaky_relu logsigmoid softshrink hardshrink glu rrelu".split(),
)
def test_activations_of_integers_are_not_implemented(name: str) -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        getattr(torch.nn.functional, name)(torch.ones(4, dtype=torch.int64))
    if name != "silu":
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
            getattr(torch.nn.functional, name)(torch.ones(4, dtype=torch.complex64))


def test_index_add_and_index_reduce_of_positions_outside_raise_index_errors() -> None:
    x, wrong = torch.zeros(3), torch.tensor([0, 9, 1])
    for call in (lambda: x.index_add(0, wrong, x), lambda: x.index_reduce(0, wrong, x, "amax")):
        with pytest.raises(IndexError, match="index out of range in self"):
            call()
    m = torch.zeros(3, 3)
    with pytest.raises(IndexError, match="index out of range in self"):
        m.index_reduce(0, wrong, m, "amax")
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for dimension 0 with size 3"):
        m.index_add(0, wrong, m)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.floor_divide(x, 2),
        lambda x: x // 2,
        lambda x: 2 // x,
        lambda x: (x * 1).floor_divide_(2),
    ],
)
def test_floor_divide_has_no_gradient(call: object) -> None:
    result = call(leaf(7.0, 8.0))  # type: ignore[operator]
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        result.sum().backward()


def test_div_that_rounds_down_has_a_gradient_of_zero() -> None:
    x = leaf(7.0, 8.0)
    torch.div(x, 2, rounding_mode="floor").sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["abs_", "absolute_"])
def test_abs_of_complex_numbers_is_refused_in_place(name: str) -> None:
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        getattr(torch.ones(2, dtype=torch.complex64), name)()
    assert getattr(torch.tensor([-1.0]), name)().tolist() == [1.0]


@pytest.mark.parametrize("name", ["dropout", "dropout2d", "alpha_dropout", "feature_alpha_dropout"])
def test_dropout_of_integers_is_refused(name: str) -> None:
    function = getattr(torch.nn.functional, name)
    of_bools = "Long" if "alpha" in name else "Bool"  # PyTorch takes one from the mask
    for dtype, title in ((torch.int64, "Long"), (torch.bool, of_bools)):
        with pytest.raises(
            RuntimeError,
            match=f"result type Float can't be cast to the desired output type {title}",
        ):
            function(torch.ones(1, 2, 2, 2).to(dtype), 0.5, training=True)
        assert function(torch.ones(1, 2, 2, 2).to(dtype), 0.5, training=False).dtype is dtype


@pytest.mark.parametrize("name", ["sum", "cumsum", "prod", "cumprod", "nansum"])
def test_out_of_an_operand_that_requires_grad_is_refused_whatever_its_dtype(name: str) -> None:
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        getattr(torch, name)(leaf(1.0, 2.0), 0, out=torch.empty((), dtype=torch.int64))


@pytest.mark.parametrize("repeats", [2, torch.tensor([2])])
def test_repeat_interleave_of_a_number_has_no_dimension(repeats: object) -> None:
    with pytest.raises(IndexError, match="Dimension"):
        torch.repeat_interleave(torch.tensor(1.0), repeats, dim=0)


def test_mark_dirty_of_a_leaf_is_refused() -> None:
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            ctx.mark_dirty(x.add_(1))  # type: ignore[attr-defined]
            return x

        @staticmethod
        def backward(ctx: object, g: torch.Tensor) -> torch.Tensor:
            return g

    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad has been used in an in-place operation",
    ):
        AddOne.apply(leaf(1.0))
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        AddOne.apply(leaf(1.0, 2.0)[:1])
    x = leaf(1.0)
    AddOne.apply(x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


# ---- taken --------------------------------------------------------------------------------------
def test_empty_matrices_are_taken() -> None:
    assert torch.linalg.pinv(torch.ones(3, 0), hermitian=True).shape == (0, 3)
    errors.WARNED.clear()  # each is given once per process
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.cholesky(torch.ones(3, 0)).shape == (3, 0)
    product = torch.bmm(
        torch.ones(2, 3, 0, dtype=torch.bool), torch.ones(2, 0, 4, dtype=torch.bool)
    )
    assert product.shape == (2, 3, 4) and product.dtype is torch.bool and not product.any()


def test_singular_values_of_a_matrix_with_infinities_are_nan() -> None:
    x = torch.tensor([[float("inf"), 1.0], [1.0, 2.0]])
    assert torch.linalg.matrix_norm(x, "nuc").isnan() and torch.linalg.svdvals(x).isnan().all()
    assert torch.linalg.svdvals(torch.stack([x, torch.eye(2)])).isnan().tolist() == [
        [True, True],
        [False, False],
    ]
    with pytest.raises(RuntimeError, match="non-finite values"):
        torch.linalg.svdvals(x * float("nan"))


@pytest.mark.parametrize("name", ["mT", "mH", "H"])
def test_a_number_transposed_is_itself(name: str) -> None:

    errors.WARNED.clear()
    with pytest.warns(UserWarning, match="deprecated on 0-D tensors"):
        assert getattr(torch.tensor(1.0), name).item() == 1.0


def test_negative_numbers_wrap_around_in_unsigned_tensors() -> None:
    x, index = torch.zeros(2, dtype=torch.uint8), torch.tensor([0])
    assert x.scatter(0, index, -1).tolist() == x.index_fill(0, index, -1).tolist() == [255, 0]
    assert x.masked_fill(torch.tensor([True, False]), -129).tolist() == [127, 0]
    for value in (-256, 256):
        with pytest.raises(RuntimeError, match="without overflow"):
            x.scatter(0, index, value)


def test_views_taken_in_place_that_change_nothing_are_taken_while_views_are_alive() -> None:
    x = torch.arange(6.0).reshape(2, 3).clone()
    view = x.view(-1)
    assert x.squeeze_() is x and x.transpose_(0, 0) is x and x.squeeze_(0) is x
    view.add_(1)
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_logspace_of_integers_is_exact_at_both_ends() -> None:
    assert torch.logspace(2, 0.4, 4, base=1.5, dtype=torch.int64).tolist() == [2, 1, 1, 1]
    assert torch.logspace(-5, 9, 7, base=2, dtype=torch.int64).tolist() == [
        0,
        0,
        0,
        4,
        20,
        101,
        512,
    ]
    assert torch.logspace(2.02, 1, 1, dtype=torch.int64).tolist() == [104]


def test_a_convolution_of_no_channels_makes_none() -> None:
    for shape, made in (((4, 0, 4), (4, 0, 3)), ((0, 4), (0, 3))):
        weight, bias = torch.ones(2, 0, 2, requires_grad=True), leaf(1.0, 2.0)
        result = torch.nn.functional.conv1d(torch.ones(shape), weight, bias)
        assert result.shape == made
        result.sum().backward()
        assert weight.grad.shape == (2, 0, 2) and bias.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_w", "legendre_polynomial_p",
                                  "laguerre_polynomial_l"])  # fmt: skip
def test_polynomials_of_high_degree_continue_those_of_lower_ones(kind: str) -> None:
    pytest.importorskip("scipy")
    from pellucid.ops.pointwise.special import polynomials

    function, x = (
        getattr(torch.special, kind),
        torch.tensor([-0.7, 0.0, 0.3, 1.0], dtype=torch.float64),
    )
    x = x.abs() if "laguerre" in kind else x
    low = function(x, 40000)
    held, polynomials._LONGEST = polynomials._LONGEST, 1000.0
    try:
        torch.testing.assert_close(function(x, 40000), low, rtol=1e-3, atol=1e-4)
    finally:
        polynomials._LONGEST = held
    assert function(x, 2**62).shape == (4,)  # at once


@pytest.mark.parametrize("kind", ["hermite_polynomial_h", "hermite_polynomial_he"])
def test_hermite_polynomials_of_high_degree_are_no_number(kind: str) -> None:
    pytest.importorskip("scipy")
    assert getattr(torch.special, kind)(torch.tensor([0.5]), 2**62).isnan().all()


def test_extremes_that_are_nan_have_gradients_of_nan() -> None:
    at, nan = torch.tensor([0, 0, 2]), float("nan")
    x, source = leaf(1.0, 2.0, 5.0), leaf(nan, 2.0, 3.0)
    (x.index_reduce(0, at, source, "amin") * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([nan, 2.0, 0.0]), equal_nan=True)
    torch.testing.assert_close(source.grad, torch.tensor([nan, nan, 3.0]), equal_nan=True)
    x, source = leaf(1.0, 2.0, 5.0), leaf(1.0, 2.0, 3.0)
    (
        x.scatter_reduce(0, at, source, "amin", include_self=False) * torch.tensor([1.0, 2.0, 3.0])
    ).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 0.0] and source.grad.tolist() == [0.5, 0.0, 3.0]


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float16, "c10::Half"), (torch.bfloat16, "c10::BFloat16"), (torch.float32, "float")],
)
def test_a_number_too_large_for_its_floats_is_refused(dtype: torch.dtype, name: str) -> None:
    x, index = torch.zeros(2, dtype=dtype), torch.tensor([0])
    for call in (
        lambda v: x.scatter(0, index, v),
        lambda v: x.masked_fill(x == 0, v),
        lambda v: x.index_fill(0, index, v),
    ):
        with pytest.raises(
            RuntimeError, match=f"value cannot be converted to type {name} without overflow"
        ):
            call(1e40)
        assert call(float("-inf"))[0] == float("-inf") and call(float("nan"))[0].isnan()


# ---- values at points where a formula divides by zero, and of no dimensions ------------------------------------------
def test_softmax_of_a_number() -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert (
            torch.tensor(0.0, dtype=dtype).softmax(0).item() == 1
            and torch.tensor(0.0, dtype=dtype).log_softmax(0).item() == 0
        )
    assert torch.tensor(float("inf")).softmax(0).isnan()
    for function in (torch.softmax, torch.log_softmax):
        x = torch.tensor(3.0, requires_grad=True)
        function(x, 0).backward()
        assert x.grad.item() == 0
        y = torch.tensor(float("nan"), requires_grad=True)
        function(y, 0).backward()
        assert y.grad.isnan()


def test_xlogy_has_no_gradient_where_none_comes() -> None:
    for function, pole in ((torch.xlogy, 0.0), (torch.special.xlog1py, -1.0)):
        x = leaf(1.0, 2.0)
        function(x, torch.tensor([pole, 1.0]))[1].backward()
        assert x.grad[0] == 0 and x.grad.isfinite().all()


def test_tangents_where_a_gradient_is_zero_by_agreement() -> None:
    zeros, ones, tangent = torch.zeros(3), torch.ones(3), torch.tensor([1.0, 2.0, 4.0])
    for function, x in (
        (torch.norm, zeros),
        (torch.std, ones),
        (lambda t: torch.std(t.reshape(1, 3), 1, keepdim=True).sum(), ones),
        (lambda t: torch.complex(t, t).angle().sum(), zeros),
    ):
        assert torch.func.jvp(function, (x,), (tangent,))[1].item() == 0
    real = torch.func.jvp(torch.norm, (torch.tensor([3.0, 4.0]),), (torch.tensor([1.0, 1.0]),))
    assert real[1].item() == pytest.approx(1.4)
    z, w = torch.tensor([3.0 + 4.0j]), torch.tensor([1.0 - 1.0j])
    assert torch.func.jvp(torch.linalg.vector_norm, (z,), (w,))[1].item() == pytest.approx(-0.2)


# ---- memory that two tensors share ---------------------------------------------------------------------------------
def test_the_same_memory_in_another_shape_overlaps() -> None:
    x, row = torch.ones(2), torch.ones(1, 2)
    for write in (
        lambda: x[None].add_(x),
        lambda: x[:1].add_(x[0]),
        lambda: row.t().add_(row),
        lambda: torch.sin(x.view(2, 1), out=x),
        lambda: torch.neg(x, out=x[None]),
    ):
        with pytest.raises(
            RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory",
        ):
            write()
    assert x.view(2, 1)[:, 0].mul_(x).tolist() == [1.0, 1.0] and torch.exp(x, out=x) is x


def test_a_write_through_an_expanded_view_has_a_gradient() -> None:
    x = torch.ones(3, 1, requires_grad=True)
    y = torch.complex(x.mT * 1, x.mT * 1).real  # every other number of its memory
    y.expand(y.shape).mul_(2)
    y.sum().backward()
    assert y.tolist() == [[2.0, 2.0, 2.0]] and x.grad.flatten().tolist() == [2.0, 2.0, 2.0]


def test_padding_images_without_channels() -> None:
    pad = torch.nn.functional.pad
    for mode in ("reflect", "replicate"):
        with pytest.raises(
            RuntimeError,
            match=r"Expected 2D or 3D \(batch mode\) tensor with possibly 0 batch size",
        ):
            pad(torch.ones(0, 4), (1, 1), mode=mode)
        assert pad(torch.ones(0, 2, 4), (1, 1), mode=mode).shape == (0, 2, 6)
    assert pad(torch.ones(2, 0, 4), (1, 1), mode="circular").shape == (2, 0, 6)
    with pytest.raises(
        TypeError, match=r"pad\(\): argument 'value' \(position 4\) must be float, not complex"
    ):
        pad(torch.ones(2), (1, 1), value=1j)


def test_memory_seen_as_wider_elements_begins_at_one_of_them() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    for view in (
        lambda: torch.view_as_complex(x[:, 1:3]),
        lambda: torch.view_as_complex(torch.arange(3.0)[1:]),
    ):
        with pytest.raises(RuntimeError, match="Tensor must have a storage_offset divisible by 2"):
            view()
    with pytest.raises(
        RuntimeError,
        match=r"self.storage_offset\(\) must be divisible by 2 to view Float as Double",
    ):
        torch.arange(5.0)[1:].view(torch.float64)
    assert torch.view_as_complex(x[:, 2:])[0].item() == 2 + 3j


# ---- out= of another type, and multiples of other numbers --------------------------------------------------------------
def test_out_of_where_any_and_all() -> None:
    yes, one = torch.tensor([True]), torch.ones(1)
    with pytest.raises(RuntimeError, match="Expected out type to be Float but got Double"):
        torch.where(yes, one, one, out=torch.zeros(1, dtype=torch.float64))
    with pytest.raises(
        TypeError, match=r"where\(\): argument 'other' \(position 3\) must be Tensor, not float"
    ):
        torch.where(yes, one, 1.0, out=torch.zeros(1))
    target = torch.zeros(1)
    assert torch.where(yes, one, one, out=target) is target and target.item() == 1
    for function in (torch.any, torch.all):
        with pytest.raises(
            RuntimeError,
            match=f"{function.__name__} only supports bool tensor for result, got: Float",
        ):
            function(yes, 0, out=torch.zeros(()))
        truth = torch.zeros((), dtype=torch.bool)
        assert (
            function(torch.ones(2, dtype=torch.uint8), out=truth) is truth and truth.item() is True
        )


def test_alpha_of_sub() -> None:
    with pytest.raises(
        RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"
    ):
        torch.sub(torch.ones(2), torch.tensor([True, False]), alpha=3)
    with pytest.raises(
        RuntimeError,
        match="For integral input tensors, argument alpha must not be a floating point number",
    ):
        torch.ones(2, dtype=torch.uint8).sub_(1, alpha=1.0)
    assert torch.ones(2).sub(1, alpha=1.0).tolist() == [0.0, 0.0] and torch.rsub(
        torch.ones(2), 3, alpha=1.0
    ).tolist() == [2.0, 2.0]


# ---- losses of two types ------------------------------------------------------------------------------------------------
def test_types_of_losses() -> None:
    functional = torch.nn.functional
    single, double = torch.tensor([1.0]), torch.tensor(2.0, dtype=torch.float64)
    for loss in (functional.mse_loss, functional.l1_loss, functional.smooth_l1_loss):
        with pytest.warns(UserWarning, match="Using a target size"):
            # the number counts like its partner
            assert loss(single, double).dtype == loss(double, single).dtype == torch.float64
    assert functional.huber_loss(single, double[None]).dtype == torch.float32
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        functional.huber_loss(torch.ones(1, dtype=torch.int64), single)
    for name in ("mse", "smooth_l1", "huber"):
        with pytest.raises(NotImplementedError, match=f"\"{name}_cpu\" not implemented for 'Long'"):
            getattr(functional, f"{name}_loss")(
                torch.ones(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)
            )


def test_a_binary_cross_entropy_has_its_targets_type() -> None:
    half, weights = torch.ones(2, dtype=torch.float16), torch.ones(2)
    for options in ({"weight": weights}, {"pos_weight": weights}):
        assert torch.nn.BCEWithLogitsLoss(**options)(half, half).dtype == torch.float16


def test_tensors_of_inference_mode_are_no_views() -> None:
    with torch.inference_mode():
        x = torch.ones(2, 3).mT.requires_grad_()
    assert not x._is_view() and x._base is None and x.requires_grad and x.is_leaf


def test_joined_tensors_are_written_apart_from_what_is_read() -> None:
    x = torch.ones(2, 2)
    for join in (
        lambda: torch.cat([x, x], out=x),
        lambda: torch.stack([x[0], x[1]], out=x),
        lambda: torch.vstack([x[:1], x[:1]], out=x),
    ):
        with pytest.raises(
            RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory",
        ):
            join()
    target = torch.zeros(4, 2, dtype=torch.float64)
    assert torch.cat([x, x], out=target) is target and target.sum().item() == 8


def test_expanded_tensors_are_filled() -> None:
    x = torch.zeros(2, 1)
    assert x.expand(2, 3).fill_(3).tolist() == [[3.0] * 3] * 2 and x.tolist() == [[3.0], [3.0]]
    assert (
        torch.nn.init.constant_(x.expand(2, 3), 2).sum().item() == 12
        and x.expand(4, 2, 3).zero_().sum().item() == 0
    )
    assert x.tolist() == [[0.0], [0.0]]
    y = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        y.expand(3).fill_(1)


# ---- nothing to look at ------------------------------------------------------------------------------------------------
def test_where_there_are_no_elements_arguments_are_not_looked_at() -> None:
    assert torch.ones(2, 0).roll(1, 5).shape == (2, 0) and torch.ones(2, 0).round(
        decimals=1000
    ).shape == (2, 0)
    assert torch.ones(1, 0, 4).index_fill(0, torch.tensor([1, 1]), 1).shape == (1, 0, 4)
    assert torch.ones(2).round(decimals=1000).isnan().all()


def test_arguments_of_random_fills_and_of_index_select() -> None:
    with pytest.raises(
        TypeError, match=r"normal_\(\): argument 'mean' \(position 1\) must be float, not Tensor"
    ):
        torch.ones(2).normal_(torch.ones(2))
    with pytest.raises(
        RuntimeError,
        match=r"index_select\(\): Index to scalar can have only 1 value, got 0 value\(s\)",
    ):
        torch.tensor(1.0).index_select(0, torch.tensor([], dtype=torch.int64))


def test_cross_entropy_of_no_classes() -> None:
    nothing = torch.ones(4, 0)
    assert torch.nn.functional.cross_entropy(nothing, nothing.softmax(1)).isnan()


# ---- formulas ------------------------------------------------------------------------------------------------------------
def test_norms_of_complex_numbers_and_of_infinite_order() -> None:
    x = torch.tensor([[1 + 2j, 3 - 1j]])
    # squares, not magnitudes
    expected = x * ((x * x).mean() + torch.finfo(torch.float32).eps) ** -0.5
    torch.testing.assert_close(torch.nn.functional.rms_norm(x, (2,)), expected)
    image = torch.tensor([[[[1.0, 2.0], [3.0, -5.0]]]])
    assert torch.nn.functional.lp_pool2d(image, float("inf"), 2).item() == 5


def test_renorm_in_place_has_a_gradient() -> None:
    x = torch.tensor([[3.0, 4.0], [0.1, 0.2]], requires_grad=True)
    inside = (x * 1).renorm_(2, 0, 1.0)
    (inside * torch.tensor([1.0, 2.0])).sum().backward()
    y = x.detach().clone().requires_grad_()
    (y.renorm(2, 0, 1.0) * torch.tensor([1.0, 2.0])).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


# ---- out= and dtype=, NumPy's names, numbers of tensors --------------------------------------------
@pytest.mark.parametrize(
    "name", ["sum", "prod", "cumsum", "cumprod", "mean", "nansum", "softmax", "log_softmax"]
)
def test_out_and_dtype_agree(name):
    x = torch.ones(2, 3)
    with pytest.raises(
        RuntimeError, match="Expected out tensor to have dtype double, but got float instead"
    ):
        getattr(torch, name)(x, 0, out=torch.empty(0), dtype=torch.float64)
    assert (
        getattr(torch, name)(
            x, 0, out=torch.empty(0, dtype=torch.float64), dtype=torch.float64
        ).dtype
        is torch.float64
    )


def test_names_that_numpy_has_for_arguments():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(torch.add(x1=x, x2=x), x + x)
    assert torch.equal(torch.sub(x, x2=x), x - x)
    assert torch.sum(a=x, axis=0, keepdims=True).tolist() == [[4.0, 6.0]]
    assert torch.equal(torch.cumsum(x=x, axis=1), x.cumsum(1))
    with pytest.raises(TypeError):
        torch.add(x, x1=x, other=x)


def test_tensors_that_are_no_number():
    for convert in (float, int, complex):
        with pytest.raises(
            ValueError, match="only one element tensors can be converted to Python scalars"
        ):
            convert(torch.ones(2))
    with pytest.raises(RuntimeError, match="cannot be converted to type double without overflow"):
        float(torch.tensor(1 + 2j))
    assert float(torch.tensor(2 + 0j)) == 2.0


def test_sizes_that_64_bits_do_not_hold():
    x = torch.empty((), dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        x.resize_(2, 4, 1 << 29, 1 << 29)
    with pytest.raises(RuntimeError, match="overflow"):
        x.resize_(8, 8, 1 << 29, 1 << 29, 1 << 10)
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        x.resize_(0, 4, 1 << 61)


def test_shapes_for_unravel_index():
    where = torch.tensor(3)
    for shape in (2.0, torch.tensor([2, 2])):
        with pytest.raises(TypeError, match="expected 'shape' to be int or sequence of ints"):
            torch.unravel_index(where, shape)
    with pytest.raises(TypeError, match="sequence to only contain ints, but got <class 'float'>"):
        torch.unravel_index(where, (2, 2.0))


def test_what_cannot_be_deleted():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        del x.requires_grad


def test_positions_for_a_tensor_without_dimensions() -> None:
    x, two = torch.tensor(1.0), torch.tensor([0, 0])
    for call in (lambda: x.index_add(0, two, x), lambda: x.index_reduce(0, two, x, "prod")):
        with pytest.raises(
            IndexError, match="Dimension specified as 0 but tensor has no dimensions"
        ):
            call()
    with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape"):
        x.index_add(0, two[:1], torch.tensor([1.0]))
    assert (
        x.index_add(0, two[:1], x).item() == 2
        and x.index_reduce(0, two[:1], torch.tensor(3.0), "prod").item() == 3
    )


@pytest.mark.parametrize("kernel", [5, 320, (2, 9)])
def test_with_ceil_mode_a_window_may_be_longer_than_the_image(kernel):
    x = torch.arange(12.0).reshape(2, 1, 2, 3).requires_grad_()
    mean = torch.nn.functional.avg_pool2d(x, kernel, ceil_mode=True)
    assert mean.flatten().tolist() == [2.5, 8.5]
    assert torch.nn.functional.max_pool2d(x, kernel, ceil_mode=True).flatten().tolist() == [
        5.0,
        11.0,
    ]
    mean.sum().backward()
    assert torch.allclose(x.grad, torch.full_like(x, 1 / 6))


def test_a_number_divided_by_a_tensor_is_the_number_times_the_reciprocal():
    x = torch.tensor([0.6], requires_grad=True)
    quotient = 0.2 / x
    assert quotient.item() == 0.3333333432674408  # the quotient rounded once is 0.3333333134651184
    assert quotient.grad_fn.name() == "MulBackward0"
    assert quotient.grad_fn.next_functions[0][0].name() == "ReciprocalBackward0"
    quotient.backward()
    assert x.grad.item() == pytest.approx(-0.2 / 0.36)
    assert (1 / torch.tensor([4, 8])).tolist() == [0.25, 0.125]
    with pytest.raises(TypeError, match="unsupported operand"):
        "text" / x


def test_joined_tensors_lie_in_rows_whatever_the_order_of_the_operands():
    wide = torch.randn(15).expand(3, 15)
    assert torch.cat([wide, torch.randn(3, 1)], -1).stride() == (16, 1)
    columns = torch.randn(4, 5).t()
    assert torch.cat([columns, columns], 1).stride() == (8, 1)
    assert torch.cat([columns.clone().requires_grad_(), columns], 1).stride() == (8, 1)
    images = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert torch.cat([images, images]).stride() == (48, 1, 12, 3)


def test_numbers_without_dimensions_give_way_in_block_diag():
    made = torch.block_diag(torch.ones(2, 2), torch.tensor(2.0, dtype=torch.float64))
    assert made.dtype == torch.float32
    assert torch.block_diag(torch.ones(1, 1), torch.tensor(1j)).dtype == torch.complex64


def test_ravel_copies_what_is_not_contiguous():
    x = torch.zeros(1).expand(2, 1)
    made = x.ravel()
    assert made.stride() == (1,) and made.data_ptr() != x.data_ptr()
    made.add_(1)
    assert x.tolist() == [[0.0], [0.0]]
    y = torch.zeros(2, 3)
    assert y.ravel().data_ptr() == y.data_ptr()


@pytest.mark.parametrize(
    ("lead", "rows", "told"),
    [
        ((), 1, "expected scalar type Double but found Float"),
        ((2,), 1, "expected scalar type Double but found Float"),
        ((), 30, "expected m1 and m2 to have the same dtype, but got: double != float"),
        ((2,), 30, "expected scalar type Float but found Double"),
    ],
)
def test_cdist_of_two_dtypes_is_refused(lead, rows, told):
    x, y = torch.ones(*lead, rows, 4, dtype=torch.float64), torch.ones(*lead, rows, 4)
    with pytest.raises(RuntimeError) as error:
        torch.cdist(x, y)
    assert str(error.value) == told
    assert torch.cdist(x[..., :0, :], y).dtype == torch.float64


def test_a_whole_tensor_is_assigned_to_without_a_view():
    x = torch.ones(3, requires_grad=True)
    for index, name in ((slice(None), "FillBackward3"), (..., "torch::autograd::CopyBackwards")):
        y = x * 2
        y[index] = 1
        assert y.grad_fn.name() == name
        with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad"):
            x[index] = 1


def test_parts_of_complex_numbers_are_selected_from_the_view_as_pairs():
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    for k, part in enumerate((x.real, x.imag)):
        node = part.grad_fn
        assert (node.name(), node._saved_index, node._saved_dim) == ("SelectBackward0", k, 1)
        assert node.next_functions[0][0].name() == "ViewAsRealBackward0"
        assert torch.autograd.grad(part.sum(), x)[0].tolist() == [(1, 1j)[k]] * 3


@pytest.mark.parametrize("name", ["max", "min", "median"])
@pytest.mark.parametrize("values", [[1.0, float("nan"), 2.0], [3.0, 3.0, 1.0], 2.0, float("nan")])
def test_gradients_of_whole_extremes_go_to_nan_in_compiled_steps_too(name, values):
    def step(x):
        x = x.detach().requires_grad_()
        getattr(x, name)().backward()
        return x.grad

    compiled = torch.compile(step)
    for _ in range(3):
        assert torch.equal(compiled(torch.tensor(values)), step(torch.tensor(values)))
    assert step(torch.tensor(values)).sum() == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_query_whose_scores_are_all_minus_infinity_gives_zeros(dtype):
    q, v = torch.tensor([[1.0], [-1.0]], dtype=dtype), torch.ones(2, 3, dtype=dtype)
    k = torch.full((2, 1), -torch.inf, dtype=dtype)
    made = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert (made[0] == 0).all() and made[1].isnan().all()


def test_autocast_does_not_reach_functions_with_out():
    x, out = torch.full((2, 2), 1.001), torch.empty(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.mm(x, x, out=out) is out
        assert torch.mm(x, x).dtype is torch.bfloat16
    assert torch.equal(out, x @ x)


def test_jacobians_of_complex_results_are_refused_row_by_row():
    x = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got torch.complex64"):
        torch.autograd.functional.jacobian(torch.square, x)
    made = torch.autograd.functional.jacobian(torch.square, x, vectorize=True)
    assert torch.equal(made, 2 * torch.eye(2, dtype=torch.complex64))


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_of_a_single_number(name: str) -> None:
    function = getattr(torch, name)
    for dim in (0, -1):
        values, indices = function(torch.tensor(2.0), dim)
        assert (values.item(), indices.item()) == (2.0, 0)
    for dim in (1, -2):
        text = f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}"
        with pytest.raises(IndexError, match=re.escape(text)):
            function(torch.tensor(2.0), dim)
