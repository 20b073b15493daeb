"""Optimizers and schedules: the generated kernels against NumPy, state, hooks, refusals."""

import copy

import numpy as np
import pytest

import pellucid as torch
from pellucid import config
from pellucid.core import observe
from pellucid.errors import full_text

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.1, "weight_decay": 0.1},
    "AdamW": {"lr": 0.1, "amsgrad": True},
    "Adamax": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "Adagrad": {"lr": 0.5},
    "Adadelta": {"lr": 5.0},
    "RMSprop": {"lr": 0.05, "centered": True, "momentum": 0.5},
    "Rprop": {"lr": 0.05},
    "ASGD": {"lr": 0.05},
    "Adafactor": {"lr": 1.0, "eps": (None, 0.5)},
    "Muon": {"lr": 0.2, "weight_decay": 0.0},
}


def problem(dtype=torch.float32):
    """A matrix, and a loss that is 0 where it equals another one."""
    target = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]], dtype=dtype)
    w = torch.nn.Parameter(torch.zeros(3, 2, dtype=dtype))
    return w, lambda: ((w - target) ** 2).sum()


def train(name, steps, dtype=torch.float32, w=None, optimizer=None, **options):
    w, loss = problem(dtype)
    optimizer = getattr(torch.optim, name)([w], **options)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return w, optimizer, losses


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_loss_falls(name):
    _, _, losses = train(name, 60, **OPTIMIZERS[name])
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_kernels_and_numpy_agree(name, monkeypatch):
    fast, _, _ = train(name, 10, **OPTIMIZERS[name])
    monkeypatch.setattr(config, "kernels", False)
    plain, _, _ = train(name, 10, **OPTIMIZERS[name])
    np.testing.assert_allclose(fast.detach().numpy(), plain.detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_half_precision_follows_single(name):
    if name == "Adafactor":
        pytest.skip("the floor of squares is the dtype's own epsilon")
    single, _, _ = train(name, 5, **OPTIMIZERS[name])
    half, optimizer, _ = train(name, 5, torch.bfloat16, **OPTIMIZERS[name])
    assert half.dtype is torch.bfloat16
    np.testing.assert_allclose(half.detach().float().numpy(), single.detach().numpy(), atol=0.08)
    state = next(iter(optimizer.state.values()))
    assert all(
        v.dtype is torch.bfloat16 for k, v in state.items() if torch.is_tensor(v) and v.dim()
    )


def test_lbfgs_solves_a_quadratic_in_few_calls():
    w, loss = problem(torch.float64)
    optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    calls = []

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        calls.append(value.item())
        return value

    first = optimizer.step(closure)
    assert first.item() == calls[0]
    assert loss().item() < 1e-12
    assert len(calls) < 8


def test_a_step_counts_as_a_write_and_names_itself():
    w = torch.nn.Parameter(torch.ones(2))
    kept = (w * w).sum()
    w.grad = torch.ones(2)
    torch.optim.SGD([w], lr=0.1).step()
    assert w._version == 1
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as caught:
        kept.backward()
    assert "SGD.step overwrote it" in full_text(caught.value)


def test_state_dict_resumes():
    w, optimizer, _ = train("Adam", 5, lr=0.1)
    saved, start = copy.deepcopy(optimizer.state_dict()), w.detach().clone()

    def go_on(w, optimizer):
        target = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])
        for _ in range(3):
            optimizer.zero_grad()
            ((w - target) ** 2).sum().backward()
            optimizer.step()
        return w.detach()

    expected = go_on(w, optimizer)
    other = torch.nn.Parameter(start)
    fresh = torch.optim.Adam([other], lr=5.0)
    fresh.load_state_dict(saved)
    assert fresh.param_groups[0]["lr"] == 0.1
    assert torch.equal(go_on(other, fresh), expected)


def test_groups_have_options_of_their_own():
    a, b = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.5)
    a.grad, b.grad = torch.ones(1), torch.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (-0.5, -1.0)
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optimizer.add_param_group({"params": [a]})


def test_hooks_and_observers():
    seen = []

    class Watch:
        def optimizer_step(self, optimizer):
            seen.append("step")

        def zero_grad(self, tensors, set_to_none):
            seen.append("zero_grad")

    w = torch.nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    optimizer = torch.optim.SGD([w], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    with observe.observing(Watch()):
        optimizer.step()
        optimizer.zero_grad()
    assert seen == ["before", "after", "step", "zero_grad"]
    assert w.grad is None


def test_hooks_see_the_optimizer_among_the_arguments_and_may_replace_them():
    w = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([w], lr=0.1)
    seen = []

    def replaced(o, args, kwargs):
        seen.append(args == (optimizer,) and not kwargs)
        return (o, lambda: torch.tensor(7.0)), {}

    optimizer.register_step_pre_hook(replaced)
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(len(args)))
    assert optimizer.step().item() == 7.0
    assert seen == [True, 2]


def test_a_subclass_s_step_runs_hooks_once():
    class Twice(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            super().step()

    w = torch.nn.Parameter(torch.zeros(1))
    w.grad = torch.ones(1)
    seen = []
    optimizer = Twice([w], lr=1.0)
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    optimizer.step()
    assert w.item() == -2
    assert seen == [1]


def test_scheduler_before_optimizer_is_noticed():
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(
        UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"
    ):
        scheduler.step()


@pytest.mark.parametrize(
    "name",
    [
        "SGD",
        "Adam",
        "AdamW",
        "Adamax",
        "NAdam",
        "RAdam",
        "Adagrad",
        "Adadelta",
        "RMSprop",
        "Rprop",
        "ASGD",
    ],
)
def test_recorded_steps_are_the_ordinary_ones(name):
    plain, _, _ = train(name, 5, torch.float64, **OPTIMIZERS[name])
    w, _ = problem(torch.float64)
    target = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]], dtype=torch.float64)
    moved = w.clone()
    optimizer = getattr(torch.optim, name)([moved], **OPTIMIZERS[name], differentiable=True)
    for _ in range(5):
        moved.grad = 2 * (moved.clone() - target)
        optimizer.step()
    np.testing.assert_allclose(moved.detach().numpy(), plain.detach().numpy(), rtol=1e-8)
    assert moved.grad_fn is not None


def test_a_rate_learnt_through_a_step():
    rate = torch.tensor(0.1, requires_grad=True)
    w = torch.tensor([2.0]).clone()
    optimizer = torch.optim.SGD([w], lr=rate, differentiable=True)
    w.grad = torch.tensor([3.0])
    optimizer.step()
    (w * w).sum().backward()  # w = 2 - 3 rate
    assert rate.grad.item() == pytest.approx(2 * (2 - 0.3) * -3)


def test_an_optimizer_of_arrays_alone_refuses_to_be_recorded():
    from pellucid.optim._arrays import ArrayOptimizer

    w = torch.zeros(1)
    w.grad = torch.ones(1)
    with pytest.raises(
        NotImplementedError, match="ArrayOptimizer does not support differentiable=True"
    ):
        ArrayOptimizer([w], {"differentiable": True}).step()


@pytest.mark.parametrize("kind", ["SGD", "Adam", "LBFGS"])
def test_logits_may_be_parameters_that_are_updated_before_backward(kind):
    logits = torch.nn.Parameter(torch.tensor([[0.5, -1.0, 2.0]]))
    optimizer = getattr(torch.optim, kind)([logits], lr=0.5)
    expected = logits.softmax(1).detach() - torch.tensor([[1.0, 0.0, 0.0]])
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0]))

    def closure():
        optimizer.zero_grad()
        square = (logits**2).sum()
        square.backward()
        return square

    optimizer.step(closure)
    optimizer.zero_grad()
    loss.backward()
    torch.testing.assert_close(logits.grad, expected)


def test_schedules_by_something_that_is_no_function():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    with pytest.raises(TypeError, match="^'int' object is not callable$"):
        torch.optim.lr_scheduler.LambdaLR(optimizer, 3)
    with pytest.raises(TypeError, match="^lr_lambda should be a function, but got int"):
        torch.optim.lr_scheduler.MultiplicativeLR(optimizer, 3)
