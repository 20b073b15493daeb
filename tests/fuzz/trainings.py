"""Whole trainings as people write them: a model of some layers, a loss, an optimizer with a schedule,
and what happens between steps (accumulation, clipping, autocast, checkpoints, copies, freezing, hooks).

Losses, learning rates, parameters, buffers and gradients are PyTorch's; those of the compiled step
are eager execution's. It shares nothing with the grammar of `programs`.
"""

from __future__ import annotations

import copy
import io
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import harness

import pellucid

NEEDS_TORCH = True
KNOWN: dict[str, str] = {
    "eager error NotImplementedError is accepted": "second derivatives that PyTorch does not have",
    "eager error RuntimeError is accepted": "second derivatives that PyTorch does not have",
}
ROWS = 6
# without Hardsigmoid, for whose slope PyTorch takes a number of four bytes
ACTIVATIONS = (
    "ReLU GELU SiLU Tanh Sigmoid ELU SELU CELU LeakyReLU Softplus Mish Hardswish Hardtanh Softsign "
    "Tanhshrink LogSigmoid PReLU ReLU6 Softshrink Threshold GLU Softmax"
).split()
LOSSES: dict[str, list[dict[str, Any]]] = {
    "cross_entropy": [{}, {"label_smoothing": 0.1}, {"reduction": "sum"}, {"ignore_index": 1}],
    "nll_loss": [{}, {"reduction": "sum"}],
    "multi_margin_loss": [{}, {"p": 2, "margin": 0.5}],
    "mse_loss": [{}, {"reduction": "sum"}],
    "l1_loss": [{}],
    "smooth_l1_loss": [{}, {"beta": 0.3}],
    "huber_loss": [{}, {"delta": 0.7}],
    "binary_cross_entropy_with_logits": [{}, {"reduction": "sum"}],
    "soft_margin_loss": [{}],
    "multilabel_soft_margin_loss": [{}],
    "poisson_nll_loss": [{}, {"full": True}, {"log_input": True, "reduction": "sum"}],
    "gaussian_nll_loss": [{}, {"full": True}],
    "kl_div": [{"reduction": "batchmean"}, {"log_target": True}],
    "hinge_embedding_loss": [{}],
    "cosine_embedding_loss": [{}, {"margin": 0.2}],
    "triplet_margin_loss": [{}, {"swap": True}],
    "margin_ranking_loss": [{"margin": 0.1}],
}
OPTIMIZERS: dict[str, dict[str, list[Any]]] = {
    "SGD": {"momentum": [0, 0.9], "nesterov": [False, True], "weight_decay": [0, 0.01],
            "dampening": [0, 0.1], "maximize": [False, True], "lr": [0.01, 0.1]},
    "Adam": {"betas": [[0.9, 0.999], [0.5, 0.9]], "weight_decay": [0, 0.01], "lr": [0.01],
             "amsgrad": [False, True], "eps": [1e-8, 1e-3], "maximize": [False, True],
             "foreach": [None, True, False], "decoupled_weight_decay": [False, True]},
    "AdamW": {"weight_decay": [0.01, 0.1], "amsgrad": [False, True], "lr": [0.01],
              "capturable": [False], "foreach": [None, True, False]},
    "RMSprop": {"alpha": [0.99, 0.5], "centered": [False, True], "momentum": [0, 0.9],
                "weight_decay": [0, 0.01], "lr": [0.01]},
    "Adagrad": {"lr_decay": [0, 0.1], "initial_accumulator_value": [0, 0.1], "lr": [0.05],
                "weight_decay": [0, 0.01]},
    "Adadelta": {"rho": [0.9, 0.5], "lr": [1.0], "weight_decay": [0, 0.01]},
    "Adamax": {"lr": [0.01], "weight_decay": [0, 0.01]},
    "NAdam": {"lr": [0.01], "momentum_decay": [0.004, 0.1], "weight_decay": [0, 0.01],
              "decoupled_weight_decay": [False, True]},
    "RAdam": {"lr": [0.01], "weight_decay": [0, 0.01], "decoupled_weight_decay": [False, True]},
    "Rprop": {"lr": [0.01], "etas": [[0.5, 1.2]]},
    "ASGD": {"lr": [0.01], "weight_decay": [0, 0.01], "t0": [2, 1000000.0]},
    "LBFGS": {"lr": [0.1], "max_iter": [2, 4], "history_size": [2, 10],
              "line_search_fn": [None, "strong_wolfe"]},
    "Adafactor": {"lr": [0.01], "weight_decay": [0, 0.01]},
}  # fmt: skip
SCHEDULES: dict[str, dict[str, Any]] = {
    "StepLR": {"step_size": 2, "gamma": 0.5},
    "MultiStepLR": {"milestones": [1, 3]},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 5},
    "CosineAnnealingWarmRestarts": {"T_0": 2, "T_mult": 2},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 20},
    "CyclicLR": {"base_lr": 0.001, "max_lr": 0.1, "step_size_up": 2, "cycle_momentum": False},
    "LinearLR": {"start_factor": 0.5, "total_iters": 3},
    "ConstantLR": {"factor": 0.5, "total_iters": 2},
    "PolynomialLR": {"total_iters": 4, "power": 2.0},
    "ReduceLROnPlateau": {"factor": 0.5, "patience": 0},
}
EVENTS = (
    "accumulate clip clip value_clip autocast checkpoint copy freeze unfreeze evaluate hook zeros "
    "penalty group average rate no_grad_write detach train_part seed reload_optimizer set_none "
    "backward_hook tensor_hook scale buffers apply retain"
).split()
LAYOUTS = ("plain", "plain", "plain", "turned", "strided", "expanded", "channels_last", "flipped")


# ---- drawing -----------------------------------------------------------------------------------
def layers(r: Any) -> tuple[dict[str, Any], list[list[Any]]]:
    """An input and a chain of [name, arguments, options] that fits it."""
    kind = r.choice(("flat", "flat", "tokens", "sequence", "image1", "image2", "image2", "image3"))
    made: list[list[Any]] = []
    width = r.choice((4, 8))
    shape: dict[str, Any] = {"kind": kind, "width": width}
    if kind == "tokens":
        options = r.choice(
            ({}, {"padding_idx": 0}, {"max_norm": 1.0}, {"scale_grad_by_freq": True})
        )
        if r.random() < 0.3:
            made.append(["EmbeddingBag", [9, width], {"mode": r.choice(("mean", "sum", "max"))}])
            now = "flat"
        else:
            made.append(["Embedding", [9, width], options])
            now = "sequence"
    else:
        now = kind
    for _ in range(r.randrange(1, 6)):
        if now == "flat":
            made.append(r.choice((
                ["Linear", [width, width], {"bias": r.random() < 0.8}],
                ["LayerNorm", [width], {"elementwise_affine": r.random() < 0.8}],
                ["RMSNorm", [width], {}],
                ["BatchNorm1d", [width], {"momentum": r.choice((0.1, None)),
                                          "track_running_stats": r.random() < 0.8}],
                ["GroupNorm", [2, width], {}],
                ["Dropout", [0.3], {}], ["AlphaDropout", [0.3], {}],
                ["Twice", ["Bilinear", [width, width, width], {}], {}],
                ["Residual", ["Linear", [width, width], {}], {}],
                ["weight_norm", ["Linear", [width, width], {}], {}],
                ["spectral_norm", ["Linear", [width, width], {}], {}],
                ["orthogonal", ["Linear", [width, width], {}], {}],
                ["Cell", [r.choice(("GRUCell", "RNNCell", "LSTMCell")), width], {}],
                activation(r), activation(r),
            )))  # fmt: skip
        elif now == "sequence":
            made.append(r.choice((
                ["Recurrent", [r.choice(("LSTM", "GRU", "RNN")), width, width], {
                    "num_layers": r.choice((1, 2)), "bidirectional": r.random() < 0.3,
                    "batch_first": True, "dropout": r.choice((0, 0.2)), "bias": r.random() < 0.8}],
                ["Attention", [width, 2], {"batch_first": True, "dropout": r.choice((0, 0.1)),
                                           "add_zero_attn": r.random() < 0.2}],
                ["TransformerEncoderLayer", [width, 2], {
                    "dim_feedforward": 8, "batch_first": True, "norm_first": r.random() < 0.5,
                    "dropout": r.choice((0, 0.1)), "activation": r.choice(("relu", "gelu"))}],
                ["LayerNorm", [width], {}], ["RMSNorm", [width], {}],
                ["Linear", [width, width], {}], ["Residual", ["Linear", [width, width], {}], {}],
                activation(r), ["Dropout", [0.2], {}],
            )))  # fmt: skip
            made += widths(made[-1], width)
        else:
            n = int(now[-1])
            made.append(r.choice((
                [f"Conv{n}d", [width, width, 3], {
                    "padding": r.choice((1, "same")), "groups": r.choice((1, 2, width)),
                    "padding_mode": r.choice(("zeros", "zeros", "reflect", "circular", "replicate")),
                    "bias": r.random() < 0.7}],
                [f"Conv{n}d", [width, width, 3], {"padding": 2, "dilation": 2}],
                [f"Conv{n}d", [width, width, 2], {"stride": 2, "padding": 1}],
                [f"ConvTranspose{n}d", [width, width, 3], {"padding": 1, "groups": r.choice((1, 2))}],
                [f"BatchNorm{n}d", [width], {"affine": r.random() < 0.8}],
                [f"InstanceNorm{n}d", [width], {"affine": r.random() < 0.5,
                                                "track_running_stats": r.random() < 0.3}],
                ["GroupNorm", [2, width], {}],
                [f"MaxPool{n}d", [3], {"stride": 1, "padding": 1}],
                [f"AvgPool{n}d", [3], {"stride": 1, "padding": 1,
                                       "count_include_pad": r.random() < 0.5}],
                [f"LPPool{n}d", [2.0, 2], {"stride": 1}] if n < 3 else ["ReLU", [], {}],
                [f"AdaptiveMaxPool{n}d", [4], {}], ["Upsample", [], {
                    "size": 5, "mode": {1: "linear", 2: r.choice(("bilinear", "bicubic")),
                                        3: "trilinear"}[n]}],
                [f"Dropout{n}d", [0.3], {}], ["LocalResponseNorm", [3], {}],
                [f"ZeroPad{n}d", [1], {}], activation(r),
                ["weight_norm", [f"Conv{n}d", [width, width, 3], {"padding": 1}], {}],
            )))  # fmt: skip
    if now == "sequence":
        made.append(["Pick", [r.choice(("mean", "last", "max", "sum"))], {}])
    elif now != "flat":
        made.append([f"AdaptiveAvgPool{now[-1]}d", [1], {}])
        made.append(["Flatten", [], {}])
    made.append(["Linear", [width, 4], {}])
    return shape, made


def activation(r: Any) -> list[Any]:
    name = r.choice(ACTIVATIONS)
    fixed: dict[str, list[Any]] = {"Threshold": [0.1, 0.0], "Softmax": [1]}
    return ["Doubled", ["GLU", [1]], {}] if name == "GLU" else [name, fixed.get(name, []), {}]


def widths(layer: list[Any], width: int) -> list[list[Any]]:
    """What brings a layer's result back to the width of the others."""
    if layer[0] == "Recurrent" and layer[2]["bidirectional"]:
        return [["Linear", [2 * width, width], {}]]
    return []


def draw(r: Any) -> dict[str, Any]:
    shape, model = layers(r)
    name = r.choice(tuple(OPTIMIZERS))
    options = {
        k: r.choice(v)
        for k, v in OPTIMIZERS[name].items()
        if k in ("lr", "max_iter") or r.random() < 0.5
    }
    if options.get("nesterov") and (not options.get("momentum") or options.get("dampening")):
        del options["nesterov"]
    loss = r.choice(tuple(LOSSES))
    steps = r.randrange(3, 8)
    events = [[r.randrange(steps), r.choice(EVENTS)] for _ in range(r.choice((0, 1, 2, 3, 5)))]
    if any(layer[0] == "weight_norm" for layer in model):
        # PyTorch's second derivative of it takes the norms for constants
        events = [event for event in events if event[1] != "penalty"]
    return {
        "seed": r.randrange(1000), "dtype": "float64" if name == "LBFGS" else r.choice(("float64", "float64", "float32")),
        "input": {**shape, "layout": r.choice(LAYOUTS)}, "model": model, "steps": steps,
        "loss": [loss, r.choice(LOSSES[loss])], "optimizer": [name, options],
        "groups": name != "LBFGS" and r.random() < 0.3, "events": sorted(events),
        "schedule": r.choice((None, *SCHEDULES)), "compile": r.choice(("step", "model", "forward")),
    }  # fmt: skip


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, plain in (("schedule", None), ("groups", False), ("dtype", "float64")):
        if case[key] != plain:
            yield {**case, key: plain}
    for k in range(len(case["events"])):
        yield {**case, "events": case["events"][:k] + case["events"][k + 1 :]}
    for k in range(len(case["model"]) - 1):
        yield {**case, "model": case["model"][:k] + case["model"][k + 1 :]}
    if case["steps"] > 1:
        yield {**case, "steps": case["steps"] - 1}
    name, options = case["optimizer"]
    if name != "SGD":
        yield {**case, "optimizer": ["SGD", {"lr": 0.1}]}
    for key in options:
        if key != "lr":
            yield {**case, "optimizer": [name, {k: v for k, v in options.items() if k != key}]}
    if case["loss"] != ["mse_loss", {}]:
        yield {**case, "loss": ["mse_loss", {}]}
    if case["input"]["layout"] != "plain":
        yield {**case, "input": {**case["input"], "layout": "plain"}}


# ---- running -----------------------------------------------------------------------------------
def build(m: Any, spec: list[list[Any]]) -> Any:
    nn = m.nn

    class Wrapped(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, what: str, inner: Any) -> None:
            super().__init__()
            self.what, self.inner = what, inner

        def forward(self, x: Any) -> Any:
            if self.what == "Twice":
                return self.inner(x, x)
            # in order: a sum of tensors that lie otherwise lies otherwise here, and dropout shows it
            if self.what == "Residual":
                return (x + self.inner(x)).contiguous()
            if self.what == "Doubled":
                return self.inner(m.cat([x, x * 0.5], 1))
            if self.what == "Attention":
                return (self.inner(x, x, x, need_weights=False)[0] + x).contiguous()
            if self.what == "Recurrent":
                return self.inner(x)[0].contiguous()
            if self.what == "Cell":
                state = self.inner(x)
                return state[0] if isinstance(state, tuple) else state
            return {
                "mean": lambda: x.mean(1), "last": lambda: x[:, -1], "sum": lambda: x.sum(1),
                "max": lambda: x.max(1).values,
            }[self.what]()  # fmt: skip

    def one(name: str, args: list[Any], options: dict[str, Any]) -> Any:
        if name in ("Twice", "Residual", "Doubled"):
            return Wrapped(name, one(*args, *([{}] if len(args) == 2 else [])))
        if name in ("weight_norm", "spectral_norm", "orthogonal"):
            return getattr(nn.utils.parametrizations, name)(one(*args))
        if name == "Recurrent":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Wrapped(name, getattr(nn, args[0])(*args[1:], **options))
        if name == "Cell":
            return Wrapped(name, getattr(nn, args[0])(args[1], args[1]))
        if name == "Attention":
            return Wrapped(name, nn.MultiheadAttention(*args, **options))
        if name == "Pick":
            return Wrapped(args[0], None)
        return getattr(nn, name)(*args, **options)

    return nn.Sequential(*[one(*layer) for layer in spec])


def given(m: Any, case: dict[str, Any], step: int) -> Any:
    """The inputs of a step, in their layout."""
    how, kind = case["input"], getattr(m, case["dtype"])
    g = m.Generator().manual_seed(1000 * case["seed"] + step)
    if how["kind"] == "tokens":
        return m.randint(0, 9, (ROWS, 3), generator=g)
    shape = (ROWS, *{"flat": (how["width"],), "sequence": (3, how["width"])}.get(
        how["kind"], (how["width"], *[4] * int(how["kind"][-1] if how["kind"][-1].isdigit() else 0))
    ))  # fmt: skip
    x = m.randn(*shape, generator=g, dtype=m.float64).to(kind)
    layout = how["layout"]
    if layout == "turned":
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "strided":
        x = m.stack([x, x], -1)[..., 0]
    elif layout == "expanded":
        x = x[:1].expand(ROWS, *shape[1:])
    elif layout == "channels_last" and x.ndim == 4:
        x = x.to(memory_format=m.channels_last)
    elif layout == "flipped":
        x = x.flip(0)
    return x


def loss_of(m: Any, case: dict[str, Any], y: Any, step: int) -> Any:
    name, options = case["loss"]
    F = m.nn.functional
    g = m.Generator().manual_seed(77 * case["seed"] + step)
    y = y.to(getattr(m, case["dtype"])) if y.dtype in (m.bfloat16, m.float16) else y
    labels = m.randint(0, y.shape[1], (len(y),), generator=g)
    t = m.randn(*y.shape, generator=g, dtype=m.float64).to(y.dtype)
    signs = m.where(t > 0, 1.0, -1.0).to(y.dtype)
    f = getattr(F, name)
    if name in ("cross_entropy", "multi_margin_loss"):
        return f(y, labels, **options)
    if name == "nll_loss":
        return f(y.log_softmax(1), labels, **options)
    if name in ("binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"):
        return f(y, (t > 0).to(y.dtype), **options)
    if name in ("soft_margin_loss", "hinge_embedding_loss"):
        return f(y, signs, **options)
    if name == "poisson_nll_loss":
        return f(y.clamp(max=3), t.abs().floor(), **options)
    if name == "gaussian_nll_loss":
        return f(y, t, t.abs() + 0.1, **options)
    if name == "kl_div":
        target = t.log_softmax(1)
        return f(y.log_softmax(1), target if options.get("log_target") else target.exp(), **options)
    if name == "cosine_embedding_loss":
        return f(y, t, signs[:, 0], **options)
    if name == "triplet_margin_loss":
        return f(y, t, t.flip(0), **options)
    if name == "margin_ranking_loss":
        return f(y, t, signs, **options)
    return f(y, t, **options)


class Training:
    """One run of a case in a library, eagerly or with a compiled step."""

    def __init__(self, m: Any, case: dict[str, Any], compiled: bool = False) -> None:
        self.m, self.case, self.compiled = m, case, compiled
        self.log: list[Any] = []
        self.handles: list[Any] = []
        self.average: Any = None

    def run(self) -> Any:
        m, case = self.m, self.case
        try:
            m.manual_seed(case["seed"])
            self.model = self.built()
            self.optimize()
            for step in range(case["steps"]):
                self.events = [name for at, name in case["events"] if at == step]
                self.step(step)
            self.note("parameters", {k: v.detach() for k, v in self.model.state_dict().items()})
            state = self.optimizer.state_dict()["state"]
            self.note("optimizer", {f"{k} {n}": v for k, s in state.items() for n, v in s.items()})
        except Exception as error:
            self.log.append(["error", type(error).__name__, str(error).split("\n")[0]])
        return self.log

    def built(self) -> Any:
        # what is computed while a model is made (orthogonal parts, norms) is as exact as the rest
        before = self.m.get_default_dtype()
        self.m.set_default_dtype(getattr(self.m, self.case["dtype"]))
        try:
            return build(self.m, self.case["model"])
        finally:
            self.m.set_default_dtype(before)

    def optimize(self, state: Any = None) -> None:
        m, (name, options) = self.m, self.case["optimizer"]
        parameters: Any = list(self.model.parameters())
        if self.case["groups"] and len(parameters) > 1:
            parameters = [
                {"params": parameters[::2]},
                {"params": parameters[1::2], "lr": options["lr"] * 0.1},
            ]
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        self.optimizer = getattr(m.optim, name)(parameters, **options)
        if state is not None:
            self.optimizer.load_state_dict(state)
        self.schedule = None
        if self.case["schedule"]:
            kind = getattr(m.optim.lr_scheduler, self.case["schedule"])
            self.schedule = kind(self.optimizer, **SCHEDULES[self.case["schedule"]])
        self.step_function = self.make_step()

    def make_step(self) -> Any:
        m, case = self.m, self.case
        how = case["compile"] if self.compiled else ""
        model = m.compile(self.model) if how == "model" else self.model
        optimizer = self.optimizer
        tiny = 1e-9 if case["dtype"] == "float64" else 1e-4

        def forward(x: Any) -> Any:
            return model(x)

        if how == "forward":
            forward = m.compile(forward)

        def step(x: Any, number: int, parts: int, clip: float, value: float, factor: float) -> Any:
            def closure() -> Any:
                optimizer.zero_grad()
                total = 0.0
                for k in range(parts):
                    loss = loss_of(m, case, forward(x), number + k) / parts
                    (loss * factor).backward()
                    total = total + loss.detach()
                return total

            if case["optimizer"][0] == "LBFGS":
                return optimizer.step(closure)
            total = closure()
            for p in model.parameters():
                # of a bias before a norm, say: rounding is no direction
                if p.grad is not None:
                    p.grad.mul_(p.grad.abs() > tiny)
            if clip:
                m.nn.utils.clip_grad_norm_(model.parameters(), clip)
            if value:
                m.nn.utils.clip_grad_value_(model.parameters(), value)
            optimizer.step()
            return total

        return m.compile(step) if how == "step" else step

    def step(self, number: int) -> None:
        m, case, events = self.m, self.case, self.events
        for name in events:
            getattr(self, f"on_{name}", lambda: None)()
        x = given(m, case, number)
        parts = 2 if "accumulate" in events else 1
        numbers = (
            0.5 if "clip" in events else 0.0,
            0.1 if "value_clip" in events else 0.0,
            2.0 if "scale" in events else 1.0,
        )
        if "autocast" in events:
            with m.autocast("cpu", dtype=m.bfloat16):
                loss = self.step_function(x, number, parts, *numbers)
            self.log.append(["coarse"])
        else:
            loss = self.step_function(x, number, parts, *numbers)
        if self.schedule is not None:
            if case["schedule"] == "ReduceLROnPlateau":
                self.schedule.step(round(float(loss), 3))
            else:
                self.schedule.step()
        self.note("loss", loss)
        self.note("rates", [g["lr"] for g in self.optimizer.param_groups])
        self.note("grads", [None if p.grad is None else p.grad for p in self.model.parameters()])
        if self.average is not None:
            self.average.update_parameters(self.model)
            self.note("average", list(self.average.parameters()))

    def note(self, what: str, value: Any) -> None:
        def plain(v: Any) -> Any:
            if isinstance(v, (list, tuple)):
                return [plain(x) for x in v]
            if isinstance(v, dict):
                return {k: plain(x) for k, x in v.items()}
            if hasattr(v, "detach"):
                v = v.detach()
                return [str(v.dtype).split(".")[-1], list(v.shape), v.double().reshape(-1).tolist()]
            return v

        self.log.append([what, plain(value)])

    # ---- events ------------------------------------------------------------------------------
    def on_checkpoint(self) -> None:
        file = io.BytesIO()
        parts = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        self.m.save(parts, file)
        file.seek(0)
        read = self.m.load(file)
        self.model = self.built()
        self.model.load_state_dict(read["model"])
        self.optimize(read["optimizer"])

    def on_copy(self) -> None:
        state = copy.deepcopy(self.optimizer.state_dict())
        self.model = copy.deepcopy(self.model)
        self.optimize(state)

    def on_reload_optimizer(self) -> None:
        self.optimizer.load_state_dict(self.optimizer.state_dict())

    def on_freeze(self) -> None:
        self.model[0].requires_grad_(False)

    def on_unfreeze(self) -> None:
        self.model.requires_grad_(True)

    def on_evaluate(self) -> None:
        self.model.eval()
        with self.m.no_grad():
            self.note("evaluated", self.model(given(self.m, self.case, 99)))
        self.model.train()

    def on_train_part(self) -> None:
        for layer in self.model[: len(self.model) // 2]:
            layer.eval()

    def on_hook(self) -> None:
        self.model[-1].register_forward_hook(lambda module, args, out: out * 1.5)

    def on_backward_hook(self) -> None:
        self.model[-1].register_full_backward_hook(lambda module, gi, go: (gi[0] * 0.5, *gi[1:]))

    def on_tensor_hook(self) -> None:
        next(iter(self.model.parameters())).register_hook(lambda g: g * 2)

    def on_no_grad_write(self) -> None:
        with self.m.no_grad():
            for p in self.model.parameters():
                p.mul_(0.9)

    def on_zeros(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)

    def on_rate(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = group["lr"] * 0.5

    def on_group(self) -> None:
        extra = self.m.nn.Parameter(self.m.ones(3, dtype=getattr(self.m, self.case["dtype"])))
        if self.case["optimizer"][0] != "LBFGS":
            self.optimizer.add_param_group({"params": [extra]})

    def on_average(self) -> None:
        self.average = self.m.optim.swa_utils.AveragedModel(self.model)

    def on_penalty(self) -> None:
        x = given(self.m, self.case, 50)
        y = self.model(x).square().sum()
        wanted = [p for p in self.model.parameters() if p.requires_grad]
        found = self.m.autograd.grad(y, wanted, create_graph=True, allow_unused=True)
        penalty = sum(g.square().sum() for g in found if g is not None)
        penalty.backward()
        self.note("penalty", [p.grad for p in self.model.parameters()])

    def on_seed(self) -> None:
        self.m.manual_seed(3)
        self.note("drawn", self.m.rand(2))

    def on_buffers(self) -> None:
        self.note("buffers", dict(self.model.named_buffers()))

    def on_apply(self) -> None:
        def start(layer: Any) -> None:
            if isinstance(layer, self.m.nn.Linear):
                self.m.nn.init.xavier_uniform_(layer.weight)

        with self.m.no_grad():
            self.model.apply(start)


# ---- comparing -----------------------------------------------------------------------------------
def differs(a: Any, b: Any, tolerance: float) -> str | None:
    if type(a) is not type(b) and not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        return f"{a!r:.60}, found {b!r:.60}"
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{len(a)} entries, found {len(b)}"
        return next((d for x, y in zip(a, b, strict=True) if (d := differs(x, y, tolerance))), None)
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"keys {list(a)}, found {list(b)}"
        return next((f"{k}: {d}" for k in a if (d := differs(a[k], b[k], tolerance))), None)
    if isinstance(a, float) or isinstance(b, float):
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
            return None if str(float(a)) == str(float(b)) else f"{a}, found {b}"
        return None if abs(a - b) <= tolerance * max(abs(a), abs(b), 1.0) else f"{a!r}, found {b!r}"
    return None if a == b else f"{a!r:.80}, found {b!r:.80}"


def compared(
    wanted: list[Any], found: list[Any], side: str, fine: float, coarse: float
) -> str | None:
    tolerance = fine
    for a, b in zip(wanted, found, strict=False):
        if a[0] == "coarse" == b[0]:
            tolerance = coarse
            continue
        if a[0] == "error" or b[0] == "error":
            if a[:2] == b[:2]:
                return None
            first = a[1] if a[0] == "error" else "accepted"
            second = b[1] if b[0] == "error" else "accepted"
            return f"{side} error {first} is {second}: {a[-1]!r:.200} | {b[-1]!r:.200}"
        what = differs(a, b, tolerance)
        if what is not None:
            return f"{side} {a[0]}: {what}"
        tolerance = min(tolerance * 3, 0.3)  # rounding grows from step to step
    return None


def run(case: dict[str, Any]) -> str | None:
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = case["dtype"] == "float64"
        with harness.reference():
            theirs = Training(torch, case).run()
        mine = Training(pellucid, case).run()
        text = compared(theirs, mine, "eager", 1e-9 if wide else 1e-4, 0.05)
        if text is None:
            again = Training(pellucid, case, compiled=True).run()
            text = compared(mine, again, "compiled", 1e-10 if wide else 1e-4, 0.05)
    return None if text is None else f"{text}\n{case['model']} {case['loss']} {case['optimizer']}"
