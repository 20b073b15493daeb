"""What hooks do to Python's objects happens at each call of a compiled step, whoever calls them."""

import functools

import pytest

import pellucid as torch
from pellucid.nn.modules import module as modules
from pellucid.optim import optimizer as optimizers

nn = torch.nn

REGISTER = {
    "optimizer, after": lambda m, o, hook: o.register_step_post_hook(hook),
    "optimizer, before": lambda m, o, hook: o.register_step_pre_hook(hook),
    "all optimizers, after": lambda m, o, hook: optimizers.register_optimizer_step_post_hook(hook),
    "all optimizers, before": lambda m, o, hook: optimizers.register_optimizer_step_pre_hook(hook),
    "gradient": lambda m, o, hook: m.weight.register_hook(hook),
    "accumulated": lambda m, o, hook: m.weight.register_post_accumulate_grad_hook(hook),
    "several": lambda m, o, hook: torch.autograd.graph.register_multi_grad_hook(
        (m.weight, m.bias), hook
    ),
    "module": lambda m, o, hook: m.register_forward_hook(hook),
    "module, before": lambda m, o, hook: m.register_forward_pre_hook(hook),
    "module, backward": lambda m, o, hook: m.register_full_backward_hook(hook),
    "all modules": lambda m, o, hook: modules.register_module_forward_hook(hook),
    "state": lambda m, o, hook: m.register_state_dict_post_hook(hook),
}


class Counter:
    def __init__(self):
        self.count = 0
        self.seen = []

    def __call__(self, *args):
        self.count += 1
        self.seen.append(len(args))

    def method(self, *args):
        self(*args)


def made(how, counter):
    log = []
    hook = {
        "function": lambda *args: log.append(len(args)),
        "object": counter,
        "method": counter.method,
        "partial": functools.partial(lambda c, *args: c(*args), counter),
    }[how]
    return hook, lambda: (log, counter.count, counter.seen)


def run(compiled, register, how, at):
    torch.manual_seed(0)
    m, x = nn.Linear(3, 2), torch.ones(4, 3, requires_grad=True)
    o = torch.optim.SGD(m.parameters(), lr=0.1)

    def step():
        o.zero_grad()
        loss = m(x).square().sum()
        loss.backward()
        o.step()
        m.state_dict()
        return loss.detach()

    step = torch.compile(step) if compiled else step
    hook, seen = made(how, Counter())
    handle, found = None, []
    try:
        for k in range(6):
            if k == at:
                handle = register(m, o, hook)
            if k == 5:
                handle.remove()
            loss = step()
            found.append((repr(seen()), round(loss.item(), 3)))
    finally:
        if handle is not None:
            handle.remove()
    return found


@pytest.mark.long
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("name", REGISTER)
def test_a_hook_that_is_added_and_removed_between_calls(name, at):
    kinds = ("function", "object", "partial", *["method"] * (name != "state"))
    for how in kinds if at == 2 else kinds[at : at + 1]:
        eager = run(False, REGISTER[name], how, at)
        assert run(True, REGISTER[name], how, at) == eager, how
        assert eager[4][0] != eager[at - 1][0] or not at


def test_a_step_without_gradients_calls_the_hooks_of_its_optimizer():
    o, log = torch.optim.Adam([nn.Parameter(torch.ones(2))]), []
    step = torch.compile(lambda: o.step())
    for k in range(4):
        step()
        if k == 0:
            o.register_step_post_hook(lambda *args: log.append(1))
    assert len(log) == 3


@pytest.mark.filterwarnings("ignore:.*a graph with hooks behind")
@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_of_parameters_of_a_compiled_model(register):
    m, log = nn.Linear(3, 2), []
    getattr(m.weight, register)(lambda g: log.append(tuple(g.shape)))
    compiled = torch.compile(m)
    for k in range(4):
        compiled(torch.ones(5, 3)).sum().backward()
        assert log == [(2, 3)] * (k + 1)


SEEN = []


def noted(grad):
    SEEN.append(tuple(grad.shape))


class Noting(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        SEEN.append(tuple(grad.shape))
        return grad * 2


class NotingElsewhere(Noting):
    @staticmethod
    def backward(ctx, grad):
        noted(grad)
        return grad * 2


@pytest.mark.filterwarnings("ignore::UserWarning")  # it runs eagerly
@pytest.mark.parametrize("function", [Noting, NotingElsewhere])
def test_the_backward_of_a_custom_function_runs_only_when_asked(function):
    SEEN.clear()
    step = torch.compile(lambda x: function.apply(x).sum())
    x = torch.ones(3, requires_grad=True)
    for k in range(3):
        loss = step(x)
        assert len(SEEN) == k
        loss.backward()
        assert len(SEEN) == k + 1
