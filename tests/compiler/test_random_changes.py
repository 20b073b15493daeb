"""Two equal worlds of a model, an optimizer and what a training script has around them, one with a
compiled function. Between calls something happens to both (a learning rate, a mode, a parameter, a
hook, an attribute, other state of the optimizer, ...), and everything must go on being equal:
results, parameters, gradients, the optimizer's state, averages, counters, and the stream of random
numbers.
"""

import copy
import random
import warnings

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn as nn
import pellucid.nn.functional as F
from pellucid.optim import lr_scheduler

from .eager_and_compiled import same


class Net(nn.Module):
    """One of several kinds of models over 6 numbers, with what users keep in a module besides its
    layers.
    """

    def __init__(self, choose):
        super().__init__()
        width = choose.choice([4, 8])
        self.kind = choose.choice(["plain", "conv", "recurrent", "attention", "embedding"])
        self.norm = choose.choice([nn.LayerNorm(width), nn.Identity(), nn.BatchNorm1d(width)])
        self.drop = nn.Dropout(choose.choice([0.0, 0.3]))
        self.act = choose.choice([nn.ReLU(), nn.GELU(), nn.Tanh(), nn.SiLU()])
        self.scale, self.calls, self.with_bias, self.aux = 1.0, 0, choose.random() < 0.7, None
        self.body = nn.Linear(
            3 if self.kind == "attention" else 6, 6 if self.kind == "recurrent" else width
        )
        if self.kind == "conv":
            self.body = nn.Sequential(
                nn.Unflatten(1, (1, 3, 2)),
                nn.Conv2d(1, width, 2, padding=1),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
            )
        elif self.kind == "recurrent":
            self.rnn = choose.choice([nn.GRU, nn.LSTM, nn.RNN])(3, width, batch_first=True)
        elif self.kind == "attention":
            self.mha = nn.MultiheadAttention(width, 2, batch_first=True)
        elif self.kind == "embedding":
            self.table = nn.Embedding(5, width)
        self.head = nn.Linear(width, 3)
        if choose.random() < 0.3:
            self.tied = nn.Linear(width, 3, bias=False)
            self.tied.weight = self.head.weight
        self.bias = nn.Parameter(torch.zeros(3))
        self.register_buffer("mean", torch.zeros(width))

    def forward(self, x):
        self.calls += 1
        if self.kind == "recurrent":
            h = self.rnn(self.body(x).view(-1, 2, 3))[0][:, -1]
        elif self.kind == "attention":
            h = self.body(x.view(-1, 2, 3))
            h = self.mha(h, h, h, need_weights=False)[0].mean(1)
        elif self.kind == "embedding":
            h = self.body(x) + self.table((x[:, 0].abs() * 2).long().clamp(max=4))
        else:
            h = self.body(x)
        h = self.drop(self.act(self.norm(h)))
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        if self.talks == 8:
            print(end=f"{h.mean().item():.3f}"[:0])
        out = self.head(h) * self.scale
        if hasattr(self, "tied"):
            out = out + self.tied(h)
        if self.aux is not None:
            out = out + self.aux(h)
        return out + self.bias if self.with_bias else out


# A large eps: where a gradient is only rounding (the bias before a norm), it is not made a step of
# full length.
OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, lr=0.05),
    lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-2),
    lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, eps=1e-2),
    lambda p: torch.optim.RMSprop(p, lr=0.01, eps=1e-2),
    lambda p: torch.optim.Adagrad(p, lr=0.05, eps=1e-2),
    lambda p: torch.optim.NAdam(p, lr=0.01, eps=1e-2),
    lambda p: torch.optim.RAdam(p, lr=0.01, eps=1e-2),
    lambda p: torch.optim.Adadelta(p, eps=1e-2),
    lambda p: torch.optim.Adamax(p, eps=1e-2),
]
SCHEDULES = [
    lambda o: lr_scheduler.StepLR(o, 2, 0.5), lambda o: lr_scheduler.CosineAnnealingLR(o, 5),
    lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=1000, cycle_momentum=False),
]  # fmt: skip


class World:
    """What a script has; `compiled` is the function that is compiled, if any: the whole step, the
    loss, or the model.
    """

    def __init__(self, seed, compiled):
        choose = random.Random(seed)
        torch.manual_seed(seed)
        self.model = self.net = Net(choose)
        self.optimizer = choose.choice(OPTIMIZERS)(self.model.parameters())
        self.scheduler = choose.choice(SCHEDULES)(self.optimizer)
        self.clip, self.smallest, self.smoothing = choose.choice([None, 0.5]), None, 0.0
        self.accumulate = choose.choice([1, 1, 2])
        self.counts, self.kept = {"steps": 0}, []
        self.average = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        self.averages, self.schedules = choose.random() < 0.3, choose.random() < 0.5
        self.to_none, self.clear_first, self.penalty = (
            choose.random() < 0.8,
            choose.random() < 0.8,
            choose.choice([0.0, 1e-2]),
        )
        self.mode = choose.choice(["step", "loss", "net"])
        # where it prints, if anywhere
        self.talks = self.net.talks = choose.choice([None, None, *range(9)])
        self.compiled = None
        if compiled:
            self.compiled = torch.compile(getattr(self, self.mode))
            setattr(self, self.mode, self.compiled)

    def talk(self, place):
        self.talks = self.model.talks = place

    def say(self, place, value):
        if self.talks == place:
            print(end=f"{value.mean().item():.3f}"[:0])

    def loss(self, x, y):
        self.say(1, x)
        loss = F.cross_entropy(self.net(x), y, label_smoothing=self.smoothing)
        self.say(2, loss)
        return (
            loss + self.penalty * sum((p**2).sum() for p in self.model.parameters())
            if self.penalty
            else loss
        )

    def step(self, x, y):
        if self.clear_first:
            self.optimizer.zero_grad(set_to_none=self.to_none)
        self.say(3, x)
        for _ in range(self.accumulate):
            loss = self.loss(x, y)
            self.say(4, loss)
            (loss / self.accumulate).backward()
        self.say(5, loss)
        norm = (
            None
            if self.clip is None
            else nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        )
        if self.smallest is not None:
            nn.utils.clip_grad_value_(self.model.parameters(), self.smallest)
        self.optimizer.step()
        self.say(6, loss)
        if not self.clear_first:
            self.optimizer.zero_grad(set_to_none=self.to_none)
        if self.schedules:
            self.scheduler.step()
        if self.averages:
            with torch.no_grad():
                for name, p in self.model.named_parameters():
                    if name in self.average:
                        self.average[name].lerp_(p, 0.1)
        self.say(7, loss)
        self.counts["steps"] += 1
        return loss.detach(), norm

    def everything(self):
        """All that must be equal in both worlds."""
        parameters = list(self.model.parameters())
        state = [
            self.optimizer.state.get(p) for g in self.optimizer.param_groups for p in g["params"]
        ]
        rates = [g["lr"] for g in self.optimizer.param_groups]
        grads = [p.grad for p in parameters]
        return (
            self.model.state_dict(),
            grads,
            state,
            rates,
            self.average,
            self.kept,
            self.model.calls,
            self.counts,
        )

    def parameter(self, k):
        named = sorted(self.model.named_parameters())
        return named[k % len(named)][1]

    def group(self, **options):
        self.optimizer.param_groups[0].update(
            {k: v for k, v in options.items() if k in self.optimizer.param_groups[0]}
        )

    def load(self, change, **how):
        self.model.load_state_dict(
            {
                k: change(t) if t.is_floating_point() else t
                for k, t in self.model.state_dict().items()
            },
            **how,
        )

    def anew(self, k):
        self.optimizer = OPTIMIZERS[k % len(OPTIMIZERS)](self.model.parameters())
        self.scheduler = SCHEDULES[0](self.optimizer)

    def grow(self):
        if self.model.aux is None:
            self.model.aux = nn.Linear(self.model.head.in_features, 3)
            self.optimizer.add_param_group(
                {"params": list(self.model.aux.parameters()), "initial_lr": 0.01}
            )

    def any_module(self, k):
        return list(self.model.modules())[k % len(list(self.model.modules()))]


# What may happen: functions of a world, a number out of three, and an integer that chooses.
CHANGES = {
    "rate": lambda w, v, k: w.group(lr=w.optimizer.param_groups[0]["lr"] * v),
    "decay": lambda w, v, k: w.group(weight_decay=v * 1e-2),
    "betas": lambda w, v, k: w.group(betas=(0.8, 0.95)),
    "eval": lambda w, v, k: w.model.eval(),
    "train": lambda w, v, k: w.model.train(),
    "part eval": lambda w, v, k: w.any_module(k).eval(),
    "freeze": lambda w, v, k: w.parameter(k).requires_grad_(False),
    "thaw": lambda w, v, k: w.model.requires_grad_(True),
    "scale": lambda w, v, k: setattr(w.model, "scale", v),
    "clip": lambda w, v, k: setattr(w, "clip", v),
    "no clip": lambda w, v, k: setattr(w, "clip", None),
    "smallest": lambda w, v, k: setattr(w, "smallest", v),
    "smoothing": lambda w, v, k: setattr(w, "smoothing", v * 0.1),
    "talks": lambda w, v, k: w.talk(k % 10),
    "accumulate": lambda w, v, k: setattr(w, "accumulate", 1 + k % 3),
    "penalty": lambda w, v, k: setattr(w, "penalty", v * 1e-2),
    "data": lambda w, v, k: setattr(w.parameter(k), "data", w.parameter(k).data * v),
    "write": lambda w, v, k: w.parameter(k).detach().mul_(v),
    "layout": lambda w, v, k: setattr(
        w.model.head.weight, "data", w.model.head.weight.data.t().contiguous().t()
    ),
    "load": lambda w, v, k: w.load(lambda t: t * 0.9),
    "assign": lambda w, v, k: w.load(lambda t: t.clone(), assign=True),
    "load optimizer": lambda w, v, k: w.optimizer.load_state_dict(
        copy.deepcopy(w.optimizer.state_dict())
    ),
    "anew": lambda w, v, k: w.anew(k),
    "p": lambda w, v, k: setattr(w.model.drop, "p", v / 4),
    "act": lambda w, v, k: setattr(w.model, "act", [nn.ReLU(), nn.ELU()][k % 2]),
    "bias": lambda w, v, k: setattr(w.model, "with_bias", not w.model.with_bias),
    "grow": lambda w, v, k: w.grow(),
    "keep": lambda w, v, k: w.kept.append([p.grad for p in w.model.parameters()]),
    "clear": lambda w, v, k: w.model.zero_grad(),
    "halve": lambda w, v, k: [p.grad.mul_(0.5) for p in w.model.parameters() if p.grad is not None],
    "hook": lambda w, v, k: w.any_module(k).register_forward_hook(
        lambda m, i, o: o * 1.5 if isinstance(o, torch.Tensor) else None
    ),
    "parameter": lambda w, v, k: setattr(w.model, "bias", nn.Parameter(torch.ones(3) * v)),
    "schedule": lambda w, v, k: w.scheduler.step(),
    "fill": lambda w, v, k: w.model.mean.fill_(v),
    "buffer": lambda w, v, k: setattr(w.model, "mean", torch.full_like(w.model.mean, v)),
    "to none": lambda w, v, k: setattr(w, "to_none", not w.to_none),
    "clear first": lambda w, v, k: setattr(w, "clear_first", not w.clear_first),
}


def called(world, stream, work):
    """What a call gives, or the words it raises; and the stream of random numbers after it."""
    torch.set_rng_state(stream)
    try:
        result = work(world)
    except (RuntimeError, KeyError, ValueError) as error:
        # ValueError: a schedule whose optimizer was given another group
        result = str(error).splitlines()[0]
    return result, torch.get_rng_state()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(16))
def test_what_happens_between_calls_shows(seed):
    choose = random.Random(f"changes {seed}")
    worlds = World(seed, False), World(seed, True)
    assert worlds[0].mode == worlds[1].mode
    told, stream = [worlds[0].model.kind, worlds[0].mode], torch.get_rng_state()

    def both(work):
        nonlocal stream
        (eager, after), (compiled, other) = (called(w, stream, work) for w in worlds)
        same(eager, compiled, 2e-3, 2e-3, path=tuple(told))
        assert torch.equal(after, other), told
        stream = after
        return isinstance(eager, str)

    def call(number, size=6):
        data = np.random.default_rng([seed, number])
        x, y = data.standard_normal((size, 6), np.float32), data.integers(0, 3, size)
        told.append(f"call {size}")
        failed = both(lambda w: w.step(torch.from_numpy(x.copy()), torch.from_numpy(y.copy())))
        same(worlds[0].everything(), worlds[1].everything(), 2e-3, 2e-3, path=tuple(told))
        for mine, others in zip(*(w.model.state_dict().values() for w in worlds), strict=True):
            others.copy_(mine)  # rounding is not to add up
        return failed

    with warnings.catch_warnings():
        # a schedule's, that the step came first; reasons for what runs eagerly
        warnings.simplefilter("ignore")
        for number in range(12):
            for _ in range(choose.choice([0, 0, 1, 1, 2])):
                name, v, k = (
                    choose.choice(sorted(CHANGES)),
                    choose.choice([0.1, 0.5, 2.0]),
                    choose.randrange(1000),
                )
                told.append(name)
                if both(lambda w, name=name, v=v, k=k: CHANGES[name](w, v, k) and None):
                    return
            if call(number, choose.choice([6, 6, 6, 3])):
                return
        if "hook" in told:
            return  # a graph with hooks, left behind by a compiled model, is none of its programs'
        for number in range(12, 20):
            call(number)
        function = worlds[1].compiled
        # a module has its function inside
        versions = getattr(function, "_compiled", lambda: function)().versions
        parts = getattr(function, "_compiled", lambda: function)().graph_breaks
        versions = versions + [
            v for part in (parts.made.values() if parts else ()) for v in part.versions
        ]
        hits = sum(v.hits for v in versions)
        call(20)
        assert sum(v.hits for v in versions) > hits, "the compiled function runs eagerly"
