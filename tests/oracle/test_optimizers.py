"""Twenty steps of each optimizer with random options, beside PyTorch's: parameters and state."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

SHAPES = [(5, 9), (7,), (), (0, 3), (40, 50)]
BETAS = [(0.9, 0.999), (0.3, 0.9)]
COMMON = {"lr": [0.01, 0.1], "maximize": [False, True], "foreach": [None, False]}
DECAY = COMMON | {"weight_decay": [0, 0.1]}
OPTIONS = {
    "SGD": DECAY | {"momentum": [0, 0.9], "dampening": [0, 0.1], "nesterov": [False, True]},
    "Adam": DECAY | {"betas": [*BETAS, (0.0, 0.5)], "amsgrad": [False, True], "eps": [1e-8, 1e-3]},
    "AdamW": DECAY | {"betas": BETAS, "amsgrad": [False, True]},
    "RMSprop": DECAY
    | {"alpha": [0.99, 0.3], "momentum": [0, 0.9], "centered": [False, True], "eps": [1e-3]},
    "Adagrad": DECAY | {"lr_decay": [0, 0.1], "initial_accumulator_value": [0, 0.5]},
    "Adadelta": DECAY | {"rho": [0.9, 0.3]},
    "Adamax": DECAY | {"betas": BETAS},
    "NAdam": DECAY
    | {"betas": BETAS, "decoupled_weight_decay": [False, True], "momentum_decay": [4e-3, 0.1]},
    "RAdam": DECAY | {"betas": BETAS, "decoupled_weight_decay": [False, True]},
    "Rprop": COMMON | {"etas": [(0.5, 1.2), (0.3, 2.0)], "step_sizes": [(1e-6, 50), (1e-2, 0.2)]},
    "ASGD": DECAY | {"lambd": [1e-4, 0.1], "alpha": [0.75, 0.5], "t0": [1e6, 5.0]},
}
ROOTLESS = {"SGD", "Adamax", "Rprop", "ASGD"}


def rounds_roots() -> bool:
    """Whether PyTorch's square roots are rounded correctly, as IEEE 754 demands: on some processors
    its vector library's are not.
    """
    x = np.linspace(0.01, 1, 10_000, dtype=np.float32)
    return bool((torch.from_numpy(x).sqrt().numpy() == np.sqrt(x)).all())


def chosen(name: str, seed: int) -> dict:
    options = {k: random.Random(f"{name}{seed}{k}").choice(v) for k, v in OPTIONS[name].items()}
    if options.get("nesterov") and (options["momentum"] == 0 or options["dampening"] != 0):
        options["nesterov"] = False
    return options


def outcome(m, name, options, dtype, seed):
    """The parameters and the state after the steps; one parameter gets its first gradient late."""
    rng = np.random.default_rng(seed)
    params = [m.tensor(np.asarray(rng.standard_normal(s), dtype)) for s in SHAPES]
    optimizer = getattr(m.optim, name)(params, **options)
    for step in range(20):
        for k, p in enumerate(params):
            g = np.asarray(rng.standard_normal(SHAPES[k]), dtype)
            p.grad = None if k == 1 and step < 4 else m.tensor(g)
        optimizer.step()
    states = (
        [{k: v for k, v in optimizer.state[p].items() if v is not None} for p in params]
        if optimizer.state
        else []
    )
    return [p.numpy() for p in params], [
        {k: v.numpy() for k, v in state.items()} for state in states
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", OPTIONS)
def test_twenty_steps(name, seed, dtype):
    options = chosen(name, seed)
    mine, my_states = outcome(pellucid, name, options, dtype, seed)
    theirs, their_states = outcome(torch, name, options, dtype, seed)
    exact = name in ROOTLESS or rounds_roots()

    def compare(a, b, what):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        if exact:
            np.testing.assert_array_equal(a, b, err_msg=what)
        else:  # a root's last bit, amplified where a spread is a difference of squares
            tolerance = 1e-3 if dtype == "float32" else 1e-9
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=what)

    for a, b in zip(mine, theirs, strict=True):
        compare(a, b, "parameter")
    for a, b in zip(my_states, their_states, strict=True):
        assert list(a) == list(b)
        for key in b:
            compare(a[key], b[key], key)


@pytest.mark.parametrize("name", OPTIONS)
def test_saved_state_goes_on_in_the_other_library(name, tmp_path):
    options = chosen(name, 1)
    start, grads = (
        np.linspace(-1, 1, 12).reshape(3, 4),
        [np.cos(np.arange(12.0) * k).reshape(3, 4) for k in range(1, 9)],
    )

    def run(m, optimizer, p, steps):
        for g in steps:
            p.grad = m.tensor(g)
            optimizer.step()

    for first, second in ((torch, pellucid), (pellucid, torch)):
        p, q = first.tensor(start), second.tensor(start)
        optimizer = getattr(first.optim, name)([p], **options)
        run(first, optimizer, p, grads[:4])
        saved = optimizer.state_dict()
        state = {
            k: second.tensor(v.numpy()) if first.is_tensor(v) else v
            for k, v in saved["state"].get(0, {}).items()
        }
        other = getattr(second.optim, name)([q], lr=5.0)
        other.load_state_dict(
            {"state": {0: state} if state else {}, "param_groups": saved["param_groups"]}
        )
        with second.no_grad():
            q.copy_(second.tensor(p.numpy()))
        run(first, optimizer, p, grads[4:])
        run(second, other, q, grads[4:])
        np.testing.assert_allclose(q.numpy(), p.numpy(), rtol=1e-6, atol=1e-9)
