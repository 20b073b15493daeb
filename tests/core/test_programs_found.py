"""What random programs found: small things in which a program could differ from PyTorch without a word."""

import copy

import pytest

import pellucid as torch
from pellucid.optim.lr_scheduler import LambdaLR, MultiplicativeLR


@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "nanmean", "prod", "cumsum", "cumprod"])
def test_out_tells_the_dtype_to_compute_in(name):
    x = torch.tensor([1e8, 1.0, -1e8])
    function = getattr(torch, name)
    out = torch.empty(3 if name.startswith("cum") else (), dtype=torch.float64)
    assert torch.equal(function(x, 0, out=out), function(x.double(), 0)) and out.dtype == torch.float64


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


@pytest.mark.parametrize(("fill", "error"), [("normal_", NotImplementedError), ("exponential_", RuntimeError)])
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
    model(torch.ones(2)).sum().backward(create_graph=True)  # a gradient with a graph is no reason to refuse the copy
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
    with pytest.raises(NotImplementedError, match="the derivative for '.*unique.*' is not implemented"):
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

    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory"):
        (torch.compile(program) if compiled else program)(torch.arange(4.0), index)
