"""Whole training steps between whose calls something changes: losses, parameters and gradients must
be those of eager steps.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from types import SimpleNamespace as Space
from typing import Any

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.compiler.run.version import OTHER_CALL

Change = Callable[[Space], Any]


def scene(
    optimizer: Callable[[Any], Any] | None = None,
    model: Callable[[], nn.Module] | None = None,
    clear: bool = True,
) -> Space:
    """A model, its optimizer and a step, which clears the gradients or leaves them."""
    s = Space()
    s.model = model() if model else nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    s.parameters = lambda: list(s.model.parameters())
    s.optimizer = (
        optimizer(s.parameters()) if optimizer else torch.optim.Adam(s.parameters(), lr=1e-2)
    )

    def step(x: Any, y: Any) -> Any:
        if clear:
            s.optimizer.zero_grad()
        loss = F.cross_entropy(s.model(x), y)
        loss.backward()
        s.optimizer.step()
        return loss

    s.step = step
    return s


def run(make: Callable[[], Space], changes: tuple[Change, ...], compiled: bool) -> list[Any]:
    torch.manual_seed(0)
    s = make()
    f = torch.compile(s.step) if compiled else s.step
    out: list[Any] = []
    calls: list[Change | None] = [None] * 3
    for change in changes:
        calls += [change, None, None]
    for k, change in enumerate(calls):
        if change is not None:
            change(s)
        generator = torch.Generator().manual_seed(k)
        x, y = (
            torch.randn(8, 4, generator=generator),
            torch.randint(0, 3, (8,), generator=generator),
        )
        out.append(f(x, y).detach().clone())
        out += [p.detach().clone() for p in s.parameters()]
        out += [torch.zeros(()) if p.grad is None else p.grad.clone() for p in s.parameters()]
    return out


def check(make: Callable[[], Space], *changes: Change) -> None:
    expected = run(make, changes, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # all of them compile
        got = run(make, changes, True)
    for a, b in zip(expected, got, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-6)


def option(name: str, value: Any) -> Change:
    return lambda s: s.optimizer.param_groups[0].__setitem__(name, value)


def sgd(**options: Any) -> Callable[[Any], Any]:
    return lambda p: torch.optim.SGD(p, **({"lr": 0.1} | options))


def state(s: Space, k: int) -> dict[str, Any]:
    found: dict[str, Any] = s.optimizer.state[s.parameters()[k]]
    return found


STATES: dict[str, tuple[Change, ...]] = {
    "learning rate": (option("lr", 0.1),),
    "betas": (option("betas", (0.4, 0.9)),),
    "weight decay": (option("weight_decay", 0.1),),
    "maximize": (option("maximize", True),),
    "frozen and free again": (
        lambda s: s.model[0].requires_grad_(False),
        lambda s: s.model[0].requires_grad_(True),
    ),
    "another optimizer": (
        lambda s: setattr(s, "optimizer", torch.optim.SGD(s.parameters(), lr=0.1)),
        lambda s: setattr(s, "optimizer", torch.optim.SGD(s.parameters(), lr=0.1, momentum=0.9)),
    ),
    "state cleared": (lambda s: s.optimizer.state.clear(),),
    "state of one parameter gone": (lambda s: s.optimizer.state.pop(s.parameters()[0]),),
    "state loaded": (
        lambda s: s.optimizer.load_state_dict(copy.deepcopy(s.optimizer.state_dict())),
    ),
    "a moment replaced": (lambda s: state(s, 0).update(exp_avg=torch.ones(8, 4)),),
    "a moment written to": (lambda s: state(s, 0)["exp_avg"].fill_(1),),
    "the first counter": (lambda s: state(s, 0)["step"].fill_(0),),
    "another counter": (lambda s: state(s, 1)["step"].fill_(0),),
    "all counters": (lambda s: [entry["step"].fill_(7) for entry in s.optimizer.state.values()],),
    "counters replaced": (
        lambda s: [entry.update(step=torch.tensor(3.0)) for entry in s.optimizer.state.values()],
    ),
    "weights loaded": (
        lambda s: s.model.load_state_dict(
            {k: v * 0 + 0.1 for k, v in s.model.state_dict().items()}
        ),
    ),
    "weights assigned": (
        lambda s: s.model.load_state_dict(
            {k: v + 0.1 for k, v in s.model.state_dict().items()}, assign=True
        ),
    ),
    "memory of the parameters": (
        lambda s: [setattr(p, "data", p.data * 2) for p in s.parameters()],
    ),
    "gradients set": (lambda s: [setattr(p, "grad", torch.ones_like(p)) for p in s.parameters()],),
    "hook on a parameter": (lambda s: s.parameters()[0].register_hook(lambda g: g * 2),),
    "hook after accumulation": (
        lambda s: s.parameters()[0].register_post_accumulate_grad_hook(
            lambda p: [p.grad.mul_(2)] and None
        ),
    ),
    "hook before the update": (
        lambda s: s.optimizer.register_step_pre_hook(
            lambda *_: [p.grad.mul_(2) for p in s.parameters()] and None
        ),
    ),
    "hook before forward": (
        lambda s: s.model[0].register_forward_pre_hook(lambda m, i: (i[0] * 2,)),
    ),
    "hook after backward": (
        lambda s: s.model[2].register_full_backward_hook(lambda m, i, o: (i[0] * 2,)),
    ),
    "layers replaced": (
        lambda s: s.model.__setitem__(1, nn.Tanh()),
        lambda s: s.model.append(nn.Softplus()),
        lambda s: s.model.__delitem__(3),
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_a_change_shows(name: str) -> None:
    check(scene, *STATES[name])


def test_hooks_that_were_there_are_taken_away() -> None:
    def make() -> Space:
        s = scene()
        s.hooks = [
            s.parameters()[0].register_hook(lambda g: g * 2),
            s.parameters()[1].register_post_accumulate_grad_hook(
                lambda p: [p.grad.mul_(2)] and None
            ),
        ]
        return s

    check(make, lambda s: s.hooks[0].remove(), lambda s: s.hooks[1].remove())


def test_options_of_other_rules() -> None:
    momentum = sgd(momentum=0.9)
    check(
        lambda: scene(momentum),
        option("nesterov", True),
        option("nesterov", False),
        option("dampening", 0.1),
        option("momentum", 0.0),
    )
    check(
        lambda: scene(lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01))),
        lambda s: s.optimizer.param_groups[0]["lr"].fill_(0.1),
    )


def test_parameters_join_later() -> None:
    make = lambda: scene(lambda p: torch.optim.Adam(p[:2], lr=0.01))
    check(make, lambda s: s.optimizer.add_param_group({"params": s.parameters()[2:], "lr": 0.1}))


def test_statistics_and_dropout() -> None:
    def model() -> nn.Module:
        return nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 3)
        )

    check(
        lambda: scene(sgd(lr=0.01), model),
        lambda s: s.model.eval(),
        lambda s: s.model.train(),
        lambda s: setattr(s.model[1], "momentum", 0.5),
        lambda s: setattr(s.model[1], "momentum", None),
        lambda s: s.model[1].reset_running_stats(),
        lambda s: setattr(s.model[2], "p", 0.1),
        lambda s: setattr(s.model[1], "track_running_stats", False),
        lambda s: setattr(s.model[1], "eps", 0.1),
    )


def test_gradients_that_accumulate() -> None:
    check(
        lambda: scene(clear=False),
        lambda s: s.optimizer.zero_grad(),
        lambda s: s.optimizer.zero_grad(set_to_none=False),
        lambda s: setattr(s.parameters()[0], "grad", None),
        lambda s: s.parameters()[1].grad.fill_(7),
    )


def test_hooks_on_an_argument() -> None:
    def f(x: Any) -> Any:
        (x * x).sum().backward()
        return x.grad.clone()

    compiled = torch.compile(f)

    def calls(g: Callable[[Any], Any]) -> list[Any]:
        out = []
        for k in range(4):
            x = torch.arange(3.0, requires_grad=True)
            if k == 2:
                x.register_hook(lambda grad: grad * 10)
            out.append(g(x))
        return out

    for a, b in zip(calls(f), calls(compiled), strict=True):
        torch.testing.assert_close(b, a)


def test_counters_that_differ_do_not_end_native_code() -> None:
    """Eager forever would be the easy way out."""
    s = scene()
    f = torch.compile(s.step)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    for _ in range(3):
        f(x, y)
    state(s, 1)["step"].fill_(0)
    before = len(f.versions)
    for _ in range(3):
        f(x, y)
    assert len(f.versions) == before + 1
    assert f.versions[0].hits >= 1


def test_a_learning_rate_that_the_step_returns() -> None:
    """It is another one at each call: neither the old one, nor a version for each."""

    def make() -> tuple[Space, Any]:
        torch.manual_seed(0)
        s = scene()
        inner = s.step
        s.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(s.optimizer, 20)
        return s, lambda x, y: (inner(x, y).detach(), s.optimizer.param_groups[0]["lr"])

    found = []
    for compiled in (False, True):
        s, step = make()
        run = torch.compile(step) if compiled else step
        rows = []
        for k in range(20):
            generator = torch.Generator().manual_seed(k)
            rows.append(
                run(
                    torch.randn(8, 4, generator=generator),
                    torch.randint(0, 3, (8,), generator=generator),
                )
            )
            s.schedule.step()
        found.append(rows)
    for (a, rate), (b, other) in zip(*found, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-6)
        assert rate == other
    assert len(run.versions) == 2 and run.versions[0].hits >= 17


def test_a_step_that_sets_its_learning_rate() -> None:
    """Options that the step sets before its optimizer reads them are set before the program."""

    def make() -> tuple[Space, Any]:
        torch.manual_seed(0)
        s = scene(sgd())
        inner = s.step

        def step(x: Any, y: Any, rate: float) -> Any:
            for group in s.optimizer.param_groups:
                group["lr"] = rate
            return inner(x, y).detach()

        return s, step

    found = []
    for compiled in (False, True):
        s, step = make()
        run = torch.compile(step) if compiled else step
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        rows = []
        for k in range(8):
            rows.append(
                (
                    run(x, y, 0.1 / (k + 1)),
                    s.optimizer.param_groups[0]["lr"],
                    s.parameters()[0].detach().clone(),
                )
            )
        found.append(rows)
    for (a, rate, w), (b, other, v) in zip(*found, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(v, w, rtol=1e-5, atol=1e-6)
        assert rate == other
    assert run.versions[0].hits >= 4


# ---- tensors that are given other memory ------------------------------------------------------------------
def averaged(compiling, between):
    """A student, and a teacher whose parameters become averages of the student's by `.data =`;
    losses, the teacher and the function.
    """
    torch.manual_seed(0)
    student, teacher = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.05)

    def step(x):
        optimizer.zero_grad()
        loss = F.mse_loss(student(x), teacher(x)) + student(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiling else step
    losses = []
    for k in range(12):
        losses.append(run(torch.randn(5, 4)).item())
        between(k, student, teacher)
    return losses, [p.detach().clone() for p in teacher.parameters()], run


def average(k, student, teacher):
    for p, q in zip(student.parameters(), teacher.parameters(), strict=True):
        q.data = 0.9 * q.data + 0.1 * p.data


def sometimes_the_same(k, student, teacher):
    average(k, student, teacher)
    if k == 6:
        teacher.weight.data = student.weight.data  # the optimizer writes to it from now on
    if k == 9:
        teacher.weight.data = student.weight.data.clone()


def of_another_layout(k, student, teacher):
    average(k, student, teacher)
    if k == 7:
        teacher.weight.data = torch.randn(4, 3, generator=torch.Generator().manual_seed(k)).T


def thawed(k, student, teacher):
    average(k, student, teacher)
    teacher.bias.requires_grad_(k == 7)


@pytest.mark.parametrize("between", [average, sometimes_the_same, of_another_layout, thawed])
def test_averages_by_other_memory(between):
    want, got = averaged(False, between), averaged(True, between)
    assert got[0] == pytest.approx(want[0], rel=1e-5)
    for a, b in zip(got[1], want[1], strict=True):
        assert torch.allclose(a, b, rtol=1e-5)
    if between is average:
        # of twelve: the first, and the one that found other memory
        assert sum(v.hits for v in got[2].versions) == 10


def test_other_memory_between_forward_and_backward():
    a, w = torch.ones(3), torch.ones(3, requires_grad=True)
    run = torch.compile(lambda x: (a * w * x).sum())
    for k in range(1, 6):
        a.data = torch.full((3,), float(k))
        w.grad = None
        result = run(torch.ones(3))
        a.data = torch.zeros(3)
        result.backward()
        assert result.item() == 3.0 * k and w.grad.tolist() == [float(k)] * 3
    assert [v.hits for v in run.versions][0] == 3


@pytest.mark.parametrize(
    "look",
    [
        lambda w: w[1:],
        lambda w: w.detach()[1:],
        lambda w: torch.from_numpy(w.numpy()[1:]),
        lambda w: w.detach(),
    ],
    ids=["view", "detached", "array", "same"],
)
def test_a_look_into_memory_is_given_other_memory(look):
    def seen(compiling):
        w = torch.arange(4.0)
        v = look(w)

        def f():
            return w.sum() + v.square().sum() * 10

        run = torch.compile(f) if compiling else f
        found = [run().item(), run().item()]
        for change in (
            lambda: setattr(v, "data", torch.full_like(v, 5.0)),
            lambda: setattr(v, "data", look(w)),
            lambda: w.add_(1),
            lambda: setattr(v, "data", torch.full_like(v, 7.0)),
            lambda: setattr(w, "data", torch.full((4,), 2.0)),
        ):
            change()
            found += [run().item(), run().item()]
        return found

    assert seen(True) == seen(False)


@pytest.mark.parametrize("owner", ["optimizer", "module"])
def test_zeros_instead_of_none(owner: str) -> None:
    """Whether there are gradients decides what `zero_grad(set_to_none=False)` leaves, and what the
    step after it does.
    """

    def run(compiled: bool) -> list[Any]:
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)

        def step(x: Any) -> Any:
            (optimizer if owner == "optimizer" else model).zero_grad(set_to_none=False)
            optimizer.step()
            return x + 1

        called = torch.compile(step) if compiled else step
        seen = []
        for k in range(6):
            called(torch.ones(2))
            if k == 2:
                model(torch.ones(1, 3)).sum().backward()
            if k == 4:
                model.weight.grad = None
            seen += [p.detach().clone() for p in model.parameters()]
            seen += [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        return seen

    for one, other in zip(run(False), run(True), strict=True):
        assert one is other or torch.allclose(one, other)


def test_gradients_that_are_kept_with_their_graph_accumulate() -> None:
    p = torch.ones((), requires_grad=True)

    @torch.compile
    def step(x: Any) -> None:
        p.backward(create_graph=True)

    for k in range(4):
        step(torch.ones(3))
        assert p.grad is not None and p.grad.item() == k + 1


@pytest.mark.parametrize("when", ["before", "after", "both"])
def test_a_learning_rate_that_changes_around_the_step(when: str) -> None:
    def run(compiled: bool) -> list[float]:
        p = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([p], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            if when != "after":
                optimizer.param_groups[0]["lr"] *= 0.5
            p.sin().sum().backward()
            optimizer.step()
            if when != "before":
                optimizer.param_groups[0]["lr"] *= 0.5
            return x * 2

        called = torch.compile(step) if compiled else step
        found = []
        for _ in range(5):
            called(torch.ones(4))
            found += [p[0].item(), optimizer.param_groups[0]["lr"]]
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(True) == pytest.approx(run(False), rel=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, p: x.to(p.dtype),
        lambda x, p: x.new_zeros(p.shape),
        lambda x, p: x * p.stride()[0],
        lambda x, p: p.new_ones(2),
        lambda x, p: x * (2 if p.requires_grad else 3),
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.double(),
        lambda p: setattr(p.weight, "data", torch.ones(5)),
        lambda p: setattr(p.weight, "data", torch.ones(8)[::2]),
        lambda p: p.requires_grad_(False),
    ],
)
def test_a_parameter_of_which_only_the_form_is_read(f, change):
    """Its values are no part of the program; its dtype, shape and strides decide about it."""
    module = torch.nn.LayerNorm(4)

    def step(x):
        return f(x, module.weight)

    compiled, x = torch.compile(step), torch.ones(4)
    for _ in range(3):
        compiled(x)
    change(module)
    found, wanted = compiled(x), step(x)
    assert found.dtype is wanted.dtype and found.stride() == wanted.stride()
    assert torch.equal(found, wanted)


def test_steps_that_clear_gradients_themselves_are_everyday_calls():
    """`p.grad = None` makes the step ask for gradients, its arguments' too; there are none, and a
    call that has some is another one.
    """
    model = torch.nn.Linear(3, 2)

    @torch.compile
    def step(x):
        for p in model.parameters():
            p.grad = None
        loss = model(x).sum()
        loss.backward()
        return loss

    x = torch.ones(4, 3)
    first = [step(x).item() for _ in range(3)]
    assert len(set(first)) == 1 and step.versions[0].fast
    assert model.weight.grad.tolist() == [[4.0] * 3] * 2
    version, hits = step.versions[0], step.versions[0].hits
    x.grad = torch.ones(4, 3)
    assert step(x).item() == first[0] and version.hits == hits
    assert x.grad.tolist() == [[1.0] * 3] * 4


@pytest.mark.parametrize("clear", ["zero_grad", "zero_", "nothing"])
def test_steps_that_write_to_gradients_which_are_there_are_everyday_calls(clear):
    """Gradients that stay are given to the program, as long as they are the same tensors."""

    def made(compiled):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            loss = model(x).square().mean()
            if clear == "zero_grad":
                optimizer.zero_grad(set_to_none=False)
            elif clear == "zero_":
                for p in model.parameters():
                    if p.grad is not None:
                        p.grad.zero_()
            loss.backward()
            optimizer.step()
            return loss

        return model, torch.compile(step) if compiled else step

    close = torch.testing.assert_close
    model, step = made(True)
    other, eager = made(False)

    def same(x):
        close(step(x), eager(x))
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            close(p, q)
            close(p.grad, q.grad)

    x = torch.arange(12.0).view(4, 3) / 7
    for _ in range(4):
        same(x)
    version = step.versions[0]
    assert version.fast and version.quick((x,)) is not OTHER_CALL
    assert "a call of Python" not in str(step.explain()).split("version 2")[0]
    eager(x)
    grad, writes, hits = model.weight.grad, model.weight.grad._version, version.hits
    before = other.weight.grad._version
    same(x)
    assert version.hits == hits + 1 and model.weight.grad is grad
    assert grad._version - writes == other.weight.grad._version - before > 0
    # another tensor, the same one in other memory, none, one that is the argument: each is seen
    for change in (
        lambda m: setattr(m.weight, "grad", torch.ones(2, 3)),
        lambda m: setattr(m.weight.grad, "data", torch.ones(2, 3)),
        lambda m: setattr(m.weight, "grad", None),
    ):
        change(model), change(other)
        for _ in range(3):
            same(x)
    # an argument in a gradient's memory, of which the counters of writes know nothing
    for _ in range(3):
        shared, alone = (torch.from_numpy(m.weight.grad.numpy()) for m in (model, other))
        close(step(shared), eager(alone))
        close(model.weight, other.weight)
        close(model.weight.grad, other.weight.grad)
