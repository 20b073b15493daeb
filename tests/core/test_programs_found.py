"""What random programs found: small things in which a program could differ from PyTorch without a
word.
"""

import copy

import pytest

import pellucid as torch
from pellucid.optim.lr_scheduler import LambdaLR, MultiplicativeLR


@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "nanmean", "prod", "cumsum", "cumprod"])
def test_out_tells_the_dtype_to_compute_in(name):
    x = torch.tensor([1e8, 1.0, -1e8])
    function = getattr(torch, name)
    out = torch.empty(3 if name.startswith("cum") else (), dtype=torch.float64)
    assert (
        torch.equal(function(x, 0, out=out), function(x.double(), 0)) and out.dtype == torch.float64
    )


def test_sum_of_integers_into_bools():
    assert torch.sum(torch.tensor([2, 3]), 0, out=torch.empty((), dtype=torch.bool)).item() is True


def test_margin_ranking_loss_of_integers():
    one, two = torch.tensor([1]), torch.tensor([2])
    assert torch.nn.functional.margin_ranking_loss(one, two, one).item() == 1.0


@pytest.mark.parametrize("schedule", [LambdaLR, MultiplicativeLR])
def test_group_added_behind_a_schedule_is_not_left_out(schedule):
    optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)
    made = schedule(optimizer, lambda epoch: 0.5)
    optimizer.add_param_group({"params": [torch.zeros(2, requires_grad=True)]})
    optimizer.step()
    with pytest.raises(ValueError, match="zip"):
        made.step()


def test_hooks_after_accumulation_return_nothing():
    x = torch.ones(2, requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda p: 1)
    with pytest.raises(TypeError, match="hook returned 'int'"):
        x.sum().backward()


def test_tensors_that_have_the_common_shape_are_not_viewed():
    x = torch.ones(2, 3, requires_grad=True)
    first, second = torch.broadcast_tensors(x, torch.ones(3))
    assert first is x and second.shape == (2, 3)


@pytest.mark.parametrize(
    ("fill", "error"), [("normal_", NotImplementedError), ("exponential_", RuntimeError)]
)
def test_refused_fills_say_the_same_while_watched(fill, error):
    def run():
        with pytest.raises(error) as caught:
            getattr(torch.zeros(3, dtype=torch.int16), fill)()
        return str(caught.value).splitlines()[0]

    plain = run()
    with torch.debug.watch():
        assert run() == plain
    with torch.autograd.detect_anomaly(check_nan=False):
        assert run() == plain


def test_copied_parameters_start_without_gradient():
    model = torch.nn.Linear(2, 2)
    # a gradient with a graph is no reason to refuse the copy
    model(torch.ones(2)).sum().backward(create_graph=True)
    assert copy.deepcopy(model).weight.grad is None
    leaf = torch.ones(2, requires_grad=True)
    leaf.sum().backward()
    assert torch.equal(copy.deepcopy(leaf).grad, torch.ones(2))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_writes_through_expand_of_a_permuted_tensor(order):
    x = torch.arange(24.0).reshape(2, 3, 4).permute(order).clone()
    want = x * 3
    x.expand(x.shape).mul_(3)
    assert torch.equal(x, want)
    x.expand(1, *x.shape)[0].zero_()
    assert not x.any()


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_gradients_of_distinct_values_are_refused(name):
    x = torch.tensor([1.0, 2.0, 2.0], requires_grad=True)
    made = getattr(x, name)()
    assert made.requires_grad and not getattr(x.detach(), name)().requires_grad
    values, counts = getattr(x, name)(return_counts=True)
    assert values.requires_grad and counts.tolist() == [1, 2]
    with pytest.raises(
        NotImplementedError, match="the derivative for '.*unique.*' is not implemented"
    ):
        made.sum().backward()


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_in_bools_are_refused(name):
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        getattr(torch.tensor([1, 2]), name)(0, dtype=torch.bool)


@pytest.mark.parametrize("fill", ["normal_", "uniform_", "bernoulli_", "random_"])
def test_refused_fills_draw_nothing(fill):
    def after():
        g = torch.Generator().manual_seed(1)
        leaf = torch.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            getattr(leaf, fill)(generator=g)
        return torch.rand(1, generator=g).item()

    fresh = torch.rand(1, generator=torch.Generator().manual_seed(1)).item()
    assert after() == fresh
    with torch.debug.watch():
        assert after() == fresh


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("index", [torch.ones(4, dtype=torch.bool), torch.arange(4)])
def test_a_tensor_is_not_written_into_itself_by_index(index: torch.Tensor, compiled: bool) -> None:
    def program(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        x = x * 1
        x[index] = x
        return x

    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single memory",
    ):
        (torch.compile(program) if compiled else program)(torch.arange(4.0), index)


IN_PLACE = {
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, -1),
    "swapaxes_": lambda y: y.swapaxes_(1, 0),
    "unsqueeze_": lambda y: y.unsqueeze_(1),
    "squeeze_": lambda y: y.squeeze_(),
    "squeeze_ one": lambda y: y.squeeze_(0),
    "two of them": lambda y: y.t_().unsqueeze_(0),
}


@pytest.mark.parametrize(
    "view",
    [
        lambda y: y[0],
        lambda y: y[:, 1:],
        lambda y: y.view(-1),
        lambda y: y.t()[0],
        lambda y: y.unsqueeze(0),
    ],
)
@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
@pytest.mark.parametrize("shape", [(3, 4), (1, 3)])
def test_views_outlive_a_change_of_their_base_s_shape(shape, change, view):
    def written(change):
        x = torch.arange(12.0)[: shape[0] * shape[1]].reshape(shape).requires_grad_()
        y = x * 1
        v = view(y)
        before = v.shape
        change(y)
        v.mul_(3)
        y.mul_(2)
        assert v.shape == before
        (y.sum() * 1.5 + (v * v).sum()).backward()
        return v.detach(), x.grad

    for one, other in zip(written(change), written(lambda y: y), strict=True):
        assert torch.equal(one, other)


def test_tensors_in_a_list_keep_their_dtype():
    half, double = torch.tensor(1.5).half(), torch.tensor(2.0, dtype=torch.float64)
    assert torch.tensor([torch.tensor(1.5), 0]).dtype == torch.float32
    assert torch.tensor([half, 0]).dtype == torch.float16
    assert torch.tensor([half, half.bfloat16()]).tolist() == [1.5, 1.5]
    assert torch.tensor([[torch.tensor([1.0]), double], [3, True]]).dtype == torch.float64
    assert torch.tensor([half, 1j]).dtype == torch.complex64
    assert torch.tensor([[1], torch.tensor([2.0])]).shape == (2, 1)
    with pytest.raises(
        ValueError, match="only one element tensors can be converted to Python scalars"
    ):
        torch.tensor([torch.ones(2), [1, 2]])


def test_padding_takes_no_gradient_that_is_not_finite():
    w = torch.tensor([[1.0], [0.0]], requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([0, 1]), w, padding_idx=1)
    (rows * float("nan")).sum().backward()
    assert w.grad[1].item() == 0.0


def test_sums_over_one_element_are_no_matrix_products():
    x = torch.ones(3, 1)
    with torch.autocast("cpu"):
        assert torch.einsum("...i,...i->...", x, x).dtype == torch.float32
        assert torch.einsum("ij,ij->i", x.expand(3, 2), x.expand(3, 2)).dtype == torch.bfloat16


@pytest.mark.parametrize("median", [torch.median, torch.nanmedian])
def test_median_of_nothing_has_a_gradient(median):
    x = torch.ones(0, requires_grad=True)
    out = median(x)
    assert out.isnan() and out.requires_grad
    out.backward()
    assert x.grad.shape == (0,)


def test_a_vmap_does_not_move_statistics():
    x = torch.randn(2, 4, 3)
    for module in (torch.nn.BatchNorm1d(3), torch.nn.InstanceNorm1d(4, track_running_stats=True)):
        with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input"):
            torch.vmap(module)(x if isinstance(module, torch.nn.BatchNorm1d) else x[:, None])
        assert torch.vmap(module.eval())(
            x if isinstance(module, torch.nn.BatchNorm1d) else x[:, None]
        ).shape[:1] == (2,)


def test_map_takes_tensors_of_its_own_type():
    x = torch.ones(3)
    with pytest.raises(
        TypeError, match=r"map_: expected torch.FloatTensor for 'other' \(got CPUBoolType\)"
    ):
        x.map_(torch.ones(3).bool(), lambda a, b: a)
    with pytest.raises(
        TypeError,
        match=r"map2_: expected torch.FloatTensor for argument 'y' \(got torch.IntTensor\)",
    ):
        x.map2_(torch.ones(3), torch.ones(3).int(), lambda a, b, c: a)
    with pytest.raises(RuntimeError, match=r"Can't call map_\(\) on Variable that requires grad"):
        x.map_(torch.ones(3, requires_grad=True), lambda a, b: a)


def test_a_tensor_serves_as_the_number():
    one = torch.ones(3)
    assert one.addcmul(one, one, value=torch.tensor(3)).tolist() == [4.0] * 3
    assert one.addcdiv(one, one, value=torch.tensor(3)).tolist() == [4.0] * 3
    assert (
        torch.tensor(3).addcmul_(torch.tensor(2), torch.tensor(2), value=torch.tensor(3)).item()
        == 15
    )
    with pytest.raises(TypeError, match="argument 'value' must be Number, not Tensor"):
        one.addcmul(one, one, value=one)


def test_several_results_are_not_written_over_what_is_read():
    m = torch.arange(9.0).reshape(3, 3)
    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single memory",
    ):
        torch.sort(m, out=(m.t(), torch.zeros(3, 3, dtype=torch.long)))
    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single memory",
    ):
        torch.linalg.cross(m, m + 1, out=m)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1).expand(3).fill_(torch.tensor(2.0))


def test_filling_an_expanded_tensor_writes_the_elements_that_there_are():
    def expanded():
        return torch.arange(3.0)[:, None].expand(3, 2)

    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
            assert expanded().index_fill_(1, torch.tensor([0]), 7).tolist() == [
                [7, 7],
                [7, 7],
                [7, 7],
            ]
            mask = torch.tensor([[True, False], [False, False], [False, True]])
            assert expanded().masked_fill_(mask, 7).tolist() == [[7, 7], [1, 1], [7, 7]]
            x = expanded()
            x[torch.tensor([0, 2])] = torch.tensor([[5.0, 6.0], [7.0, 8.0]])
            assert x.tolist() == [[6, 6], [1, 1], [8, 8]]
    finally:
        torch.set_warn_always(False)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded().add_(1)


def test_what_a_write_reads_of_itself_is_refused_in_every_layout():
    for x in (torch.ones(4, 5)[:, 1:], torch.ones(6, 3)[::2], torch.ones(0, 4)):
        with pytest.raises(
            RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory",
        ):
            x.scatter_add_(1, torch.zeros_like(x, dtype=torch.long), x)


def test_inference_mode_records_nothing_whatever_grad_mode_is():
    p = torch.ones((), requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        assert not (p * 2).requires_grad
        with torch.set_grad_enabled(True):
            assert not (p * 2).requires_grad
    assert (p * 2).requires_grad


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_inference_mode_take_no_others(compiled):
    p = torch.ones((), requires_grad=True)

    def program():
        p.backward(torch.ones(()))

    step = torch.compile(program) if compiled else program
    with torch.inference_mode():
        step()
    with pytest.raises(
        RuntimeError,
        match="Inplace update to inference tensor outside InferenceMode is not allowed",
    ):
        step()
    assert p.grad.item() == 1.0


def test_backward_is_refused_in_every_transform():
    p = torch.ones(2, requires_grad=True)

    def f(x):
        torch.autograd.backward(p.sum())
        return x.sum()

    for call in (torch.func.grad(f), torch.vmap(f), lambda x: torch.func.jvp(f, (x,), (x,))):
        with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
            call(torch.ones(2))


def test_backward_hooks_of_modules_are_left_out_under_vmap_and_refused_by_grad():
    module = torch.nn.Linear(3, 2)
    seen = []
    module.register_full_backward_hook(lambda *args: seen.append(len(args)))
    x = torch.ones(4, 3)
    assert torch.allclose(torch.vmap(module)(x), module(x))
    assert torch.allclose(torch.func.jvp(module, (x,), (x,))[1], x @ module.weight.T)
    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        torch.func.grad(lambda x: module(x).sum())(x)
    torch.vmap(module)(x.requires_grad_()).sum().backward()
    assert not seen and torch.allclose(module.weight.grad, torch.full((2, 3), 4.0))


def test_backward_to_what_requires_no_gradient():
    x = torch.ones(2, requires_grad=True)
    for call in (x.sum().backward, lambda inputs: torch.autograd.backward(x.sum(), inputs=inputs)):
        with pytest.raises(
            RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
        ):
            call(inputs=[torch.ones(1)])


def test_other_refusals():
    one = torch.ones(2)
    with pytest.raises(RuntimeError, match="expects a tensor with <= 2 dimensions, but self is 3D"):
        torch.nn.functional.linear(one, torch.ones(1, 2, 2))
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type float without overflow"
    ):
        one.addcmul(one, one, value=1j)
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.add(one, one, alpha=torch.tensor(True))
    with pytest.raises(
        RuntimeError,
        match="Destination slice shape: 4 at dimension 0 and source slice shape:  at dimension 0",
    ):
        torch.ones(3, 4).index_copy_(0, torch.tensor([0]), torch.ones(()))


def test_watching_asks_no_foreign_object_for_its_class():
    class Foreign:
        @property
        def __class__(self):
            raise AssertionError("asked")

    kept = [Foreign()]
    leaf = torch.ones(2, requires_grad=True)
    with torch.debug.watch():
        leaf.sum().backward()
    assert len(kept) == 1


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda x: x.unsqueeze_(0), (1, 2, 2)),
        (lambda x: x.squeeze_(), (2, 2)),
        (lambda x: x.t_(), (2, 2)),
        (lambda x: x.transpose_(0, 1), (2, 2)),
        (lambda x: x.as_strided_((4,), (1,)), (4,)),
    ],
)
@pytest.mark.parametrize(
    "made", [lambda p: p * 2, lambda p: (p * 2)[:], lambda p: (p * 2).swapaxes(0, 1)]
)
def test_a_tensor_that_takes_a_view_on_itself_stays_in_the_graph(mode, change, shape, made):
    p = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = made(p)
    with mode():
        assert change(x) is x
    assert x.requires_grad and not x.is_leaf and x.shape == shape and not x.is_inference()
    weight = torch.arange(4.0).reshape(shape)
    (x * weight).sum().backward()
    expected = torch.zeros(2, 2)  # found by which element each of the new places shows
    for value, factor in zip(x.detach().flatten().tolist(), weight.flatten().tolist(), strict=True):
        expected[p.detach() * 2 == value] = 2 * factor
    assert p.grad.tolist() == expected.tolist()


def test_a_leaf_that_takes_a_view_on_itself_stays_a_leaf():
    p = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        p.t_()
    assert p.is_leaf and p.requires_grad
    (p * torch.ones(3, 2)).sum().backward()
    assert p.grad.shape == (3, 2)


def test_sizes_change_in_place_in_inference_mode_while_views_are_alive():
    x = torch.zeros(3, 4)
    view = x.unsqueeze(0)
    with torch.inference_mode():
        x.swapaxes_(0, 1)
        x.unsqueeze(0).add_(1)
    assert x.shape == (4, 3)
    assert torch.equal(view, torch.ones(1, 3, 4))


def test_backward_hooks_of_a_result_are_known():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    assert x._backward_hooks is y._backward_hooks is None
    handle = y.register_hook(lambda g: None)
    assert len(y._backward_hooks) == 1 and x._backward_hooks is None
    handle.remove()
    assert not y._backward_hooks
