"""The optimizers' formulas, as kernels and with NumPy, against the same in plain float64;
parameters that began at different times.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid import config

SHAPES = [(3, 5), (17,), (), (0, 4), (2, 3, 7), (5000,)]


def sgd(s, p, g, t, lr=0.1, momentum=0.9, dampening=0.0, nesterov=False):
    s["b"] = momentum * s["b"] + (1 - dampening) * g if "b" in s else g
    return p - lr * (g + momentum * s["b"] if nesterov else s["b"])


def adam(s, p, g, t, lr=0.01, betas=(0.9, 0.999), eps=1e-8, amsgrad=False):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    s["x"] = np.maximum(s.get("x", 0), s["v"]) if amsgrad else s["v"]
    return p - lr * s["m"] / (1 - betas[0] ** t) / (np.sqrt(s["x"] / (1 - betas[1] ** t)) + eps)


def rmsprop(s, p, g, t, lr=0.01, alpha=0.9, eps=1e-3, momentum=0.5, centered=True):
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
    s["m"] = alpha * s.get("m", 0) + (1 - alpha) * g
    step = g / (np.sqrt(s["v"] - centered * s["m"] ** 2) + eps)
    s["b"] = momentum * s.get("b", 0) + step
    return p - lr * s["b"]


def adagrad(s, p, g, t, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5, eps=1e-10):
    s["v"] = s.get("v", initial_accumulator_value) + g * g
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["v"]) + eps)


def adadelta(s, p, g, t, lr=1.0, rho=0.8, eps=1e-6):
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g * g
    step = np.sqrt(s.get("d", 0) + eps) / np.sqrt(s["v"] + eps) * g
    s["d"] = rho * s.get("d", 0) + (1 - rho) * step * step
    return p - lr * step


def adamax(s, p, g, t, lr=0.01, betas=(0.9, 0.99), eps=1e-8):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["u"] = np.maximum(betas[1] * s.get("u", 0), np.abs(g) + eps)
    return p - lr / (1 - betas[0] ** t) * s["m"] / s["u"]


def nadam(s, p, g, t, lr=0.01, betas=(0.9, 0.99), eps=1e-8, momentum_decay=0.1):
    mu, after = (betas[0] * (1 - 0.5 * 0.96 ** (k * momentum_decay)) for k in (t, t + 1))
    s["p"] = s.get("p", 1) * mu
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    mean = after * s["m"] / (1 - s["p"] * after) + (1 - mu) * g / (1 - s["p"])
    return p - lr * mean / (np.sqrt(s["v"] / (1 - betas[1] ** t)) + eps)


def radam(s, p, g, t, lr=0.01, betas=(0.9, 0.99), eps=1e-8):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    longest = 2 / (1 - betas[1]) - 1
    length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
    step = lr * s["m"] / (1 - betas[0] ** t)
    if length <= 5:
        return p - step
    rate = np.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return p - step * rate * np.sqrt(1 - betas[1] ** t) / (np.sqrt(s["v"]) + eps)


def rprop(s, p, g, t, lr=0.05, etas=(0.5, 1.2), step_sizes=(0.03, 0.08)):
    same = g * s.get("g", 0)
    s["s"] = np.clip(
        s.get("s", lr) * np.where(same > 0, etas[1], np.where(same < 0, etas[0], 1.0)), *step_sizes
    )
    s["g"] = np.where(same < 0, 0, g)
    return p - np.sign(s["g"]) * s["s"]


def asgd(s, p, g, t, lr=0.05, lambd=0.1, alpha=0.75, t0=3.0):
    p = p * (1 - lambd * s.get("eta", lr)) - s.get("eta", lr) * g
    s["ax"] = s.get("ax", 0) + (p - s.get("ax", 0)) * s.get("mu", 1.0)
    s["eta"], s["mu"] = lr / (1 + lambd * lr * t) ** alpha, 1 / max(1, t - t0)
    return p


KEYS = {
    sgd: {"b": "momentum_buffer"},
    adam: {"m": "exp_avg", "v": "exp_avg_sq"},
    rmsprop: {"v": "square_avg", "m": "grad_avg", "b": "momentum_buffer"},
    adagrad: {"v": "sum"},
    adadelta: {"v": "square_avg", "d": "acc_delta"},
    adamax: {"m": "exp_avg", "u": "exp_inf"},
    nadam: {"m": "exp_avg", "v": "exp_avg_sq", "p": "mu_product"},
    radam: {"m": "exp_avg", "v": "exp_avg_sq"},
    rprop: {"g": "prev", "s": "step_size"},
    asgd: {"ax": "ax", "eta": "eta", "mu": "mu"},
}
CASES = [
    ("SGD", sgd, {}),
    ("SGD", sgd, {"nesterov": True}),
    ("SGD", sgd, {"dampening": 0.2, "momentum": 0.5}),
    ("Adam", adam, {}),
    ("Adam", adam, {"amsgrad": True, "betas": (0.3, 0.9)}),
    ("AdamW", adam, {"betas": (0.0, 0.9)}),
    ("RMSprop", rmsprop, {}),
    ("RMSprop", rmsprop, {"centered": False, "alpha": 0.3}),
    ("Adagrad", adagrad, {}),
    ("Adadelta", adadelta, {}),
    ("Adamax", adamax, {}),
    ("NAdam", nadam, {}),
    ("RAdam", radam, {}),
    ("Rprop", rprop, {}),
    ("ASGD", asgd, {}),
]
DECOUPLED = {"AdamW", "NAdam", "RAdam"}


@pytest.fixture(params=["kernels", "numpy"])
def way(request, monkeypatch):
    monkeypatch.setattr(config, "kernels", request.param == "kernels")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize(
    "name, formula, options", CASES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_steps(name, formula, options, decay, dtype, way):
    rng = np.random.default_rng(3)
    first = formula.__defaults__
    options = dict(zip(formula.__code__.co_varnames[4 : 4 + len(first)], first)) | options
    start = [np.asarray(rng.standard_normal(s), dtype) for s in SHAPES]
    params, wide, states = (
        [torch.tensor(a) for a in start],
        [a.astype(np.float64) for a in start],
        [{} for _ in SHAPES],
    )
    given = dict(options)
    if name in DECOUPLED and name != "AdamW":
        given["decoupled_weight_decay"] = True
    if name != "Rprop":
        given["weight_decay"] = decay
    optimizer = getattr(torch.optim, name)(params, maximize=True, **given)
    for step in range(8):
        for k, p in enumerate(params):
            p.grad = None
            if k != 1 or step > 1:  # one parameter begins later
                g = np.asarray(rng.standard_normal(SHAPES[k]), dtype)
                p.grad, g = torch.tensor(-g), g.astype(np.float64)
                if name in DECOUPLED:
                    wide[k] = wide[k] * (1 - options["lr"] * decay)
                elif name != "Rprop":
                    g = g + decay * wide[k]
                wide[k] = formula(states[k], wide[k], g, step + 1 - 2 * (k == 1), **options)
        optimizer.step()
    # some numbers of the state are float32 everywhere
    tolerance = 1e-4 if dtype is np.float32 else 1e-7
    for p, want, state in zip(params, wide, states):
        np.testing.assert_allclose(p.numpy(), want, rtol=tolerance, atol=tolerance)
        for key, theirs in KEYS[formula].items():
            if theirs == "grad_avg" and not options["centered"]:
                continue
            held = optimizer.state[p][theirs]
            np.testing.assert_allclose(
                held.numpy(), state[key], rtol=tolerance, atol=tolerance, err_msg=theirs
            )


def test_a_momentum_buffer_of_one_number_is_a_tensor(monkeypatch):
    monkeypatch.setattr(config, "kernels", False)
    p = torch.tensor(1.0, dtype=torch.float64)
    optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.5, maximize=True)
    for value in (2.0, 3.0):
        p.grad = torch.tensor(value, dtype=torch.float64)
        optimizer.step()
    assert torch.is_tensor(optimizer.state[p]["momentum_buffer"])
    assert p.item() == 1 + 0.5 * 2 + 0.5 * (0.5 * 2 + 3)


def test_parameters_of_several_kinds_in_one_group():
    kinds = [torch.float32, torch.float64, torch.bfloat16, torch.complex64]
    params = [torch.ones(3, 2, dtype=kind) for kind in kinds] + [torch.ones(2, 3).t()]
    optimizer = torch.optim.Adam(params, lr=0.25)
    for p in params:
        p.grad = torch.full_like(p, 2.0)
    optimizer.step()
    for p in params:
        np.testing.assert_allclose(
            p.to(torch.complex128).numpy().real,
            0.75,
            rtol=1e-2 if p.dtype is torch.bfloat16 else 1e-6,
        )


def test_missing_state_is_named():
    p = torch.ones(2)
    p.grad = torch.ones(2)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    optimizer.param_groups[0]["amsgrad"] = True
    with pytest.raises(KeyError, match="max_exp_avg_sq"):
        optimizer.step()


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "NAdam"])
def test_counters_of_old_checkpoints_are_numbers(name):
    made = []
    for number in (False, True):
        p = torch.ones(2)
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        for step in range(3):
            p.grad = torch.tensor([1.0, -2.0 * step])
            optimizer.step()
            if number:
                saved = optimizer.state_dict()
                saved["state"] = {
                    0: {k: v.item() if v.dim() == 0 else v for k, v in saved["state"][0].items()}
                }
                optimizer.load_state_dict(saved)
        made.append(p.tolist())
    assert made[0] == made[1]
