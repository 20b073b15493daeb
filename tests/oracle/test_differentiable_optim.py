"""Steps of optimizers with differentiable=True against PyTorch: derivatives through updates, rates
and states.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

START = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
CASES = {
    "SGD": {"lr": 0.1},
    "SGD momentum": {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1},
    "SGD nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
    "Adam": {"lr": 0.1, "weight_decay": 0.1},
    "Adam amsgrad": {"lr": 0.1, "amsgrad": True, "maximize": True},
    "AdamW": {"lr": 0.1, "weight_decay": 0.3},
    "RMSprop": {"lr": 0.05, "weight_decay": 0.1},
    "RMSprop centered": {"lr": 0.05, "centered": True, "momentum": 0.5},
    "Adagrad": {"lr": 0.2, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    "Adadelta": {"lr": 2.0, "weight_decay": 0.1},
    "NAdam": {"lr": 0.1, "weight_decay": 0.1},
    "NAdam decoupled": {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    "RAdam": {"lr": 0.1, "weight_decay": 0.1},
    "RAdam decoupled": {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    "Adamax": {"lr": 0.1, "weight_decay": 0.1},
    "ASGD": {"lr": 0.1, "weight_decay": 0.1, "t0": 1.0},
    "Rprop": {"lr": 0.05},
}


def meta(
    m, name, steps, options, tensors=(), start=START, dtype="float64", scale=1.5, gradients=True
):
    """Some steps of an inner problem; the gradients of what comes out with respect to the start, a
    scale and `tensors`.
    """
    w0 = m.tensor(start, dtype=getattr(m, dtype), requires_grad=True)
    scale = m.tensor(scale, dtype=m.float64, requires_grad=True)
    options = dict(options)
    extra = []
    for key in tensors:
        values = options[key] if isinstance(options[key], tuple) else (options[key],)
        made = [m.tensor(v, dtype=m.float64, requires_grad=True) for v in values]
        options[key] = tuple(made) if isinstance(options[key], tuple) else made[0]
        extra += made
    w = w0.clone()
    optimizer = getattr(m.optim, name.split()[0])([w], differentiable=True, **options)
    for i in range(steps):
        inner = w.clone()  # the update changes w in place, so the loss is computed of a copy
        loss = ((inner * inner.conj()).real * scale + (inner * (i + 1)).real.sin()).sum()
        (w.grad,) = m.autograd.grad(loss, inner, create_graph=True)
        optimizer.step()
    outer = (w * w.conj()).real.cos().sum()
    grads = m.autograd.grad(outer, [w0, scale, *extra], allow_unused=True) if gradients else []
    return [outer.item(), *[None if g is None else g.numpy() for g in grads]], optimizer.state[
        w
    ] if optimizer.state else {}


def slope(*args, scale=1.5, **kwargs):
    """The derivative with respect to the scale by differences, and the outcome."""
    step = 1e-5
    values = [
        meta(torch, *args, **kwargs, scale=scale + d, gradients=False)[0][0]
        for d in (-step, 0.0, step)
    ]
    return (values[2] - values[0]) / (2 * step), values[1]


def compare(*args, **kwargs):
    got, state = meta(pellucid, *args, **kwargs)
    # PyTorch computes the corrections of these in float32
    rounded = 1e-3 if args[0].startswith("Adam") else 1e-6
    try:
        expected, expected_state = meta(torch, *args, **kwargs)
    except RuntimeError as error:  # PyTorch overwrites what it saved in several of these
        assert "modified by an inplace operation" in str(error)
        derivative, outcome = slope(*args, **kwargs)
        np.testing.assert_allclose(got[0], outcome, rtol=rounded)
        np.testing.assert_allclose(got[2], derivative, rtol=max(rounded, 1e-4), atol=1e-7)
        return
    for a, b in zip(got, expected, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=rounded, atol=1e-8)
    assert list(state) == list(expected_state)
    for key, value in expected_state.items():
        assert tuple(state[key].shape) == tuple(value.shape)
        np.testing.assert_allclose(
            state[key].detach().numpy(), value.detach().numpy(), rtol=rounded, err_msg=key
        )


@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize("case", CASES)
def test_through_steps(case, steps):
    compare(case, steps, CASES[case])


@pytest.mark.parametrize(
    "case, tensors",
    [("SGD", ["lr"]), ("SGD momentum", ["lr", "weight_decay"]), ("Adam", ["lr", "weight_decay"]), ("AdamW", ["lr", "weight_decay"]),
     ("Adam", ["betas"]), ("AdamW", ["lr", "betas"])],
)  # fmt: skip
def test_hyper_parameters_have_gradients(case, tensors):
    options = dict(CASES[case])
    if "betas" in tensors:
        options["betas"] = (0.8, 0.95)
    compare(case, 1 if case == "SGD momentum" else 3, options, tensors)


@pytest.mark.parametrize(
    "case", ["Adam amsgrad", "RMSprop", "Adagrad", "Adamax", "Rprop", "SGD momentum"]
)
def test_complex_parameters(case):
    compare(case, 3, CASES[case], start=[1 + 0.5j, -0.25 + 2j], dtype="complex128")


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_leaves_cannot_be_stepped(name):
    texts = []
    for m in (torch, pellucid):
        w = m.nn.Parameter(m.ones(2))
        (w * w).sum().backward()
        with pytest.raises(RuntimeError) as error:
            getattr(m.optim, name)([w], lr=0.1, differentiable=True).step()
        texts.append(str(error.value))
    assert texts[0] == texts[1]
