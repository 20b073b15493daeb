"""Recorded calls on few numbers that get nodes as the first such call did: the same values, graphs,
gradients and refusals as of the whole way, in whatever order calls come and whoever watches.
"""

from __future__ import annotations

import random
import threading

import pytest

import pellucid as torch
from pellucid.ops._few import Few

from .test_few_numbers import CALLS, FLOATS, _image

F = torch.nn.functional


class _Own(torch.Tensor):
    pass


class _Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _leaf(x):
    return x.clone().requires_grad_(), None


def _derived(x):
    leaf = x.clone().requires_grad_()
    return leaf * 2, leaf


def _part(x):
    leaf = torch.stack([x, x]).requires_grad_()
    return leaf[1], leaf


def _one_of_several(x):
    leaf = torch.stack([x, x]).requires_grad_()
    return leaf.unbind()[0], leaf


def _parameter(x):
    return torch.nn.Parameter(x.clone()), None


def _subclass(x):
    return x.clone().as_subclass(_Own).requires_grad_(), None


GIVEN = (_leaf, _derived, _part, _one_of_several, _parameter, _subclass)


def _shown(node, depth=0):
    """Names, shapes and edges of a graph, as those who look see them."""
    if node is None or depth > 6:
        return None
    words = [w for w in dir(node) if w.startswith("_saved_")]
    saved = [getattr(node, w) for w in words]
    saved = [s.tolist() if isinstance(s, torch.Tensor) else s for s in saved]
    edges = [(_shown(n, depth + 1), k) for n, k in node.next_functions]
    return node.name(), words, repr(saved), edges


def _plainly(call, given, x):
    x, leaf = given(x)
    leaf = x if leaf is None else leaf
    y = call(x)
    graph = _shown(y.grad_fn)
    (g,) = torch.autograd.grad((y * y.detach()).sum(), leaf, create_graph=True)
    return y, graph, g, g.requires_grad


def _twice(call, given, x):
    x, leaf = given(x)
    leaf = x if leaf is None else leaf
    y = call(x)
    (g,) = torch.autograd.grad((y**3).sum(), leaf, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), leaf)
    return type(y), y, g, h


def _freed(call, given, x):
    x, leaf = given(x)
    y = call(x)
    y.sum().backward()
    said = None
    try:
        y.sum().backward()
    except RuntimeError as error:
        said = str(error)[:60]
    return said, (x if leaf is None else leaf).grad


def _hooked(call, given, x):
    seen = []
    x, leaf = given(x)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (seen.append((t.shape, t.dtype)), t)[1], lambda t: t
    ):
        y = call(x)
    handle = y.register_hook(lambda g: g * 2)
    y.sum().backward()
    handle.remove()
    return seen, y, (x if leaf is None else leaf).grad


def _written(call, given, x):
    x, leaf = given(x)
    y = call(x)
    y.mul_(2)
    with torch.no_grad():
        x.zero_()
    y.sum().backward()
    return y, (x if leaf is None else leaf).grad


def _quietly(call, given, x):
    x, _ = given(x)
    with torch.no_grad():
        y = call(x)
    with torch.inference_mode():
        z = call(x)
    return y, y.requires_grad, y.is_leaf, z, z.is_inference()


def _moded(call, given, x):
    with _Mode():
        return _plainly(call, given, x)


def _mapped(call, given, x):
    return torch.vmap(call)(torch.stack([x, x + 1]))


def _pure(call, given, x):
    return torch.func.grad(lambda x: (call(x) ** 2).sum())(x)


def _cast(call, given, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x, _ = given(x)
        y = call(x)
    return y, _shown(y.grad_fn)


def _checked(call, given, x):
    with torch.autograd.detect_anomaly(check_nan=False):
        return _plainly(call, given, x)


WAYS = (
    *(_plainly,) * 4,
    _twice, _freed, _hooked, _written, _quietly, _moded, _mapped, _pure, _cast, _checked,
)  # fmt: skip
LAYOUTS = ("rows", "last", "turned", "none", "parts")


def _input(kind, layout):
    if layout == "none":
        return torch.zeros(0, 8, 4, 6, dtype=kind)
    return _image(kind, "rows")[:, :, :, ::2] if layout == "parts" else _image(kind, layout)


def _seen(made):
    """What can be told of a result, bit by bit."""
    if isinstance(made, torch.Tensor):
        made = made.detach().as_subclass(torch.Tensor)
        numbers = made.contiguous()._array.tobytes()
        return made.dtype, tuple(made.shape), made.stride(), numbers
    return tuple(map(_seen, made)) if isinstance(made, (tuple, list)) else made


def _outcome(way, call, given, kind, layout):
    try:
        return _seen(way(call, given, _input(kind, layout)))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        return type(error), str(error)


class Program:
    """Calls in random order, by the short ways that earlier ones left and by the whole way."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def run(self, count, monkeypatch):
        names, short = list(CALLS), Few.made
        for _ in range(count):
            pick = self.random.choice
            name, given, way = pick(names), pick(GIVEN), pick(WAYS)
            kind, layout = pick((FLOATS[0], *FLOATS)), pick(LAYOUTS)
            asked = way, CALLS[name], given, kind, layout
            made = _outcome(*asked)
            with monkeypatch.context() as m:
                m.setattr(Few, "made", lambda *_: None)
                wanted = _outcome(*asked)
            assert Few.made is short
            assert made == wanted, (name, way, given, kind, layout)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed, monkeypatch):
    F.gelu(torch.ones(4096))
    Program(seed).run(150, monkeypatch)


@pytest.mark.parametrize("layout", ["rows", "last"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_graph_at_every_call(name, layout, monkeypatch):
    asked = _plainly, CALLS[name], _derived, torch.float32, layout
    made = [_outcome(*asked) for _ in range(3)]
    monkeypatch.setattr(Few, "made", lambda *_: None)
    wanted = _outcome(*asked)
    assert type(wanted[0]) is tuple and made == [wanted] * 3


def test_graphs_are_remembered():
    few = Few()
    x = torch.ones(3, requires_grad=True)

    def call(x):
        found = few.made(x, 2)
        return found, few.remember(x, (2,), lambda a: lambda a: -a, -x)

    assert call(x)[0] is None
    made, whole = call(x * 1)
    assert made.grad_fn.name() == whole.grad_fn.name() == "NegBackward0"
    assert made.grad_fn is not whole.grad_fn and made.grad_fn.next_functions[0][0].name()
    made.sum().backward()
    assert x.grad.tolist() == [-1, -1, -1]
    assert few.made(x.detach(), 2).grad_fn is None


def test_graphs_that_keep_the_argument_are_not():
    few, x = Few(), torch.ones(3, requires_grad=True)
    for call in (
        lambda x: x.exp(),
        lambda x: x * x,
        lambda x: x * x.detach(),
        lambda x: x * (x.detach() > 0),
        lambda x: x[:2] * torch.ones(2),
        lambda x: x.max(),
        lambda x: x.view(3),
        lambda x: x,
        lambda x: x.unbind()[0].neg(),
    ):
        for _ in range(3):
            few.remember(x, (call,), lambda a: lambda a: a, call(x))
            assert few.made(x, call) is None


def test_threads_at_once():
    x = torch.arange(64.0).view(1, 4, 4, 4)
    wanted, failed = F.max_pool2d(x, 2), []

    def run():
        for n in range(60):
            t = x.clone().requires_grad_(n % 3 > 0)
            y = F.max_pool2d(t, 2)
            if not torch.equal(y, wanted) or y.requires_grad is not (n % 3 > 0):
                failed.append(n)
            elif n % 3:
                y.sum().backward()
                if t.grad.sum() != y.numel():
                    failed.append(n)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
