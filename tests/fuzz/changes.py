"""Functions with a world around them, compiled and eager, while things change between calls.

A case is a list of lines that make up a function, and a list of calls: before each one something of
the world changes, and the call is made in some context, with some argument, and something is done
with its result. There are two equal worlds, one of which has the function compiled. What it gives
or raises, what it leaves in its argument and in the world, gradients and random numbers must be the
same after each call.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import functools
import gc
import itertools
import linecache
import math
import os
import pickle
import random
import threading
import warnings
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np

import pellucid as torch
from pellucid import nn

F = nn.functional
NEEDS_TORCH = False
KNOWN: dict[str, str] = {
    "eager works and compiled raises GraphError double": "a gradient of a gradient through a compiled function is refused, as PyTorch does"
}
_numbers = itertools.count()


# ---- what a world holds -------------------------------------------------------------------------------------------
class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.scale = 1.5
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.inner.weight, self.inner.bias) * self.scale


class Doubling(nn.Module):
    def forward(self, w: Any) -> Any:
        return w * 2


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * g * ctx.saved_tensors[0]  # no true gradient: it can be told from one


class Holder:
    """An object with what objects have."""

    factor = 2.0

    def __init__(self) -> None:
        self.own = 3.0
        self.step = 0

    @property
    def third(self) -> float:
        return self.own / 3

    def method(self, x: Any) -> Any:
        return x * self.factor + self.own

    @staticmethod
    def fixed(x: Any) -> Any:
        return x + 1

    @classmethod
    def made(cls, x: Any) -> Any:
        return x * cls.factor

    def __getitem__(self, k: int) -> float:
        return self.own * k

    def __len__(self) -> int:
        return int(abs(self.own))

    def __enter__(self) -> Holder:
        self.step += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self.step -= 1


def tensor(*shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(
        np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)
    )


def make_world() -> Any:
    """Everything that a function can see besides its argument."""
    torch.manual_seed(1)
    E = SimpleNamespace()
    E.number, E.count, E.flag, E.name = 1.5, 2, True, "sin"
    E.w = tensor(4, 4, seed=1).requires_grad_()
    E.b = nn.Parameter(tensor(4, seed=2))
    E.buffer = tensor(4, seed=3)
    E.tensors = [tensor(4, seed=k) for k in (4, 5)]
    E.table = {"a": tensor(4, seed=6), "k": 2.5, "b": 3}
    E.items = [1.0, 2.0]
    E.log: list[Any] = []
    E.last = None
    E.steps = 0
    E.net = Net()
    E.holder = Holder()
    E.Holder = type("Held", (Holder,), {})
    E.optimizer = torch.optim.SGD([E.w, E.b, *E.net.parameters()], lr=0.1, momentum=0.5)
    E.adam = torch.optim.Adam([E.w, E.b], lr=0.01)
    E.array = np.arange(4, dtype=np.float32)
    E.variable = contextvars.ContextVar("v", default=2.0)
    E.local = threading.local()
    E.local.x = 2.0
    E.generator = torch.Generator().manual_seed(3)
    E.function = lambda x: x * 2
    E.partial = functools.partial(torch.add, alpha=2)
    E.weak = weakref.ref(E.holder)
    E.kept = tensor(2, 4, seed=9)
    E.hooks: list[Any] = []
    E.called: list[Any] = []
    E.shared = nn.Linear(4, 4, bias=False)
    E.shared.weight = E.net.inner.weight
    E.queue = collections.deque([1.0, 2.0], maxlen=3)
    E.inner = None
    E.slice = slice(0, 2)
    E.dtype = torch.float32
    return E


# ---- lines of functions: each sets `v` ----------------------------------------------------------------------------
LINES = {
    "number": "v = x * E.number",
    "count": "v = x + E.count",
    "flag": "v = x * 2 if E.flag else x - 1",
    "name": "v = getattr(torch, E.name)(x)",
    "weight": "v = F.linear(x, E.w)",
    "bias": "v = x + E.b",
    "buffer": "v = x * E.buffer",
    "tensors": "v = sum(x * t for t in E.tensors)",
    "table": "v = x * E.table['a'] * E.table['k']",
    "items": "v = x * sum(E.items)",
    "queue": "v = x + sum(E.queue)",
    "keys": "v = x * len(E.table) + sum(k < 'b' for k in E.table)",
    "net": "v = E.net(x)",
    "norm": "v = E.net.norm(x)",
    "drop": "v = E.net.drop(x)",
    "training": "v = x * (2 if E.net.training else 3)",
    "buffer of a module": "v = x + E.net.seen",
    "shared": "v = E.shared(x)",
    "holder": "v = E.holder.method(x)",
    "property": "v = x * E.holder.third",
    "class": "v = x * E.holder.factor",
    "static": "v = E.holder.fixed(x)",
    "class method": "v = E.Holder.made(x)",
    "special method": "v = x * E.holder[2] + len(E.holder)",
    "manager": "with E.holder as h:\n    v = x * h.step",
    "function": "v = E.function(x)",
    "partial": "v = E.partial(x, x)",
    "weak": "v = E.weak().method(x)",
    "array": "v = x * torch.from_numpy(E.array)",
    "numpy number": "v = x * float(E.array[1])",
    "variable": "v = x * E.variable.get()",
    "local": "v = x * E.local.x",
    "environment": "v = x * float(os.environ.get('PELLUCID_FUZZ', '2'))",
    "dtype": "v = x.to(E.dtype).float()",
    "slice": "v = x[E.slice]",
    "global": "v = x * GLOBAL",
    "default": "def g(x, k=E.number): return x * k\nv = g(x)",
    # what an argument is
    "requires_grad": "v = x * 2 if x.requires_grad else x * 3",
    "is_leaf": "v = x * 2 if x.is_leaf else x * 3",
    "shape": "v = x.reshape(-1, x.shape[-1]) * x.shape[0]",
    "version": "v = x * x._version",
    "strides": "v = x * x.stride()[0]",
    "contiguous": "v = x * 2 if x.is_contiguous() else x * 3",
    "offset": "v = x * (x.storage_offset() + 1)",
    "base": "v = x * 2 if x._base is None else x * 3",
    "is_view": "v = x * 2 if x._is_view() else x * 3",
    "storage": "v = x * x.untyped_storage().nbytes()",
    "grad_fn": "v = x * 2 if x.grad_fn is None else x * 3",
    "grad of argument": "v = x * 2 if x.grad is None else x * x.grad",
    "type": "v = x * 2 if isinstance(x, nn.Parameter) else x * 3",
    "inference": "v = x * 2 if x.is_inference() else x * 3",
    "is kept": "v = x * 2 if x is E.kept else x * 3",
    "same memory": "v = x * 2 if x.data_ptr() == E.kept.data_ptr() else x * 3",
    "attribute": "v = x * getattr(x, 'mark', 2.0)",
    "dtype of argument": "v = x * (2 if x.dtype is torch.float32 else 3)",
    "numel": "v = x / max(x.numel(), 1)",
    "device": "v = x * len(x.device.type)",
    "retains": "v = x * 2 if x.retains_grad else x * 3",
    # modes and settings
    "grad mode": "v = x * 2 if torch.is_grad_enabled() else x * 3",
    "inference mode": "v = x * 2 if torch.is_inference_mode_enabled() else x * 3",
    "anomaly": "v = x * 2 if torch.is_anomaly_enabled() else x * 3",
    "autocast asked": "v = x * 2 if torch.is_autocast_enabled('cpu') else x * 3",
    "default dtype": "v = x * torch.ones(4).to(torch.float64)",
    "scalar type": "v = torch.tensor([1.5, 2.5]).double()",
    "deterministic": "v = x * 2 if torch.are_deterministic_algorithms_enabled() else x * 3",
    "matmul": "v = x @ E.w",
    "no_grad": "with torch.no_grad():\n    v = x * E.w[0]",
    "enable_grad": "with torch.enable_grad():\n    v = x * E.w[0]",
    "set_grad": "with torch.set_grad_enabled(E.flag):\n    v = x * E.w[0]",
    "autocast": "with torch.autocast('cpu', dtype=torch.bfloat16, enabled=E.flag):\n    v = (x @ E.w).float()",
    "inference block": "with torch.inference_mode():\n    v = x * 2",
    "set_grad for good": "was = torch.is_grad_enabled()\ntorch.set_grad_enabled(not was)\nv = x * E.w[0]\ntorch.set_grad_enabled(was)",
    "seed": "v = x * (torch.initial_seed() % 7)",
    "threads": "v = x * (torch.get_num_threads() > 0)",
    # random numbers
    "dropout": "v = F.dropout(x, 0.5, E.flag)",
    "rand": "v = x + torch.rand(4)",
    "randn_like": "v = x + torch.randn_like(x)",
    "generator": "v = x + torch.rand(4, generator=E.generator)",
    "bernoulli": "v = x * torch.bernoulli(torch.full((4,), 0.5))",
    "fork": "with torch.random.fork_rng():\n    torch.manual_seed(7)\n    v = x + torch.rand(4)",
    # values
    "item": "v = x * x.detach().sum().item()",
    "float": "v = x * float(x.detach().abs().max())",
    "int": "v = x * int(x.detach().abs().sum())",
    "if value": "v = x * 2 if x.sum() > 0 else x * 3",
    "tolist": "v = x * sum(x.detach().flatten().tolist())",
    "numpy": "v = x + torch.from_numpy(x.detach().numpy().copy())",
    "format": "v = x * len(f'{x.detach().sum().item():.1f}')",
    "mask": "v = x[x.detach() > 0]",
    "nonzero": "v = x * x.detach().nonzero().shape[0]",
    "while": "v = x\nwhile 1 < v.detach().abs().sum() < 1e6:\n    v = v / 2",
    "index of value": "v = x * E.items[int(x.detach().flatten()[0] > 0)]",
    "math": "v = x * math.sqrt(x.detach().abs().sum())",
    # writes
    "write x": "x.mul_(2)\nv = x + 1",
    "write view": "x[..., 1:].add_(1)\nv = x * 2",
    "write unsqueezed": "v = x * 2\nv.unsqueeze(0).add_(1)",
    "write buffer": "E.buffer.add_(1)\nv = x * E.buffer",
    "write data": "E.b.data.mul_(0.9)\nv = x + E.b",
    "write kept": "E.kept.add_(1)\nv = x * 2",
    "fill": "v = torch.zeros(4)\nv[1] = x.sum()",
    "copy": "v = torch.empty_like(x)\nv.copy_(x)",
    "set item": "x[..., 0] = E.number\nv = x + 0",
    "out": "v = torch.empty(0)\ntorch.add(x.detach(), 1, out=v)",
    "no_grad write": "with torch.no_grad():\n    E.w.mul_(0.9)\nv = F.linear(x, E.w)",
    "resize": "y = x.detach().clone()\ny.resize_(y.numel() // 2)\nv = y + 1",
    "data of x": "x.data = x.data * 2\nv = x + 1",
    "detached write": "x.detach().add_(1)\nv = x * 2",
    # what is left behind
    "counter": "E.steps += 1\nv = x * E.steps",
    "last": "E.last = x.detach() * 2\nv = x + 1",
    "mean": "E.buffer = 0.9 * E.buffer + 0.1 * x.detach().reshape(-1, 4).mean(0)\nv = x * E.buffer",
    "log": "E.log.append(x.detach().sum().item())\nv = x * 2",
    "log tensor": "E.log.append(x.detach() + 1)\nv = x * 2",
    "pop": "v = x * 2\nif E.log: E.log.pop()",
    "store key": "E.table['n'] = x.detach().sum()\nv = x * 2",
    "new attribute": "E.fresh = E.number * 2\nv = x * E.fresh",
    "delete": "v = x * 2\nif hasattr(E, 'fresh'): del E.fresh",
    "object": "E.last = SimpleNamespace(a=x.detach() * 2, n=E.count)\nv = x * 2",
    "mark": "v = x * 2\nv.mark = E.count",
    "mark x": "x.mark = 3.0\nv = x * 2",
    "graph kept": "E.last = x * 2 + (E.last if isinstance(E.last, torch.Tensor) else 0)\nv = E.last * 1",
    "gradient left": "(x.detach() * E.b).sum().backward()\nv = x * 2",
    "train": "E.net.train(E.flag)\nv = E.net.drop(x)",
    "scale": "E.net.scale = E.net.scale * 0.9\nv = E.net(x)",
    "requires_grad_": "y = x.detach().clone().requires_grad_()\nv = torch.autograd.grad((y * y).sum(), y)[0]",
    "x requires_grad_": "x.requires_grad_(E.flag)\nv = x * 2",
    "freeze": "E.b.requires_grad_(E.flag)\nv = x + E.b",
    # gradients
    "backward": "(x * E.w).square().sum().backward()\nv = E.w.grad + 0",
    "grad": "v = torch.autograd.grad((F.linear(x, E.w)).sin().sum(), E.w)[0]",
    "double": "g, = torch.autograd.grad((x * E.b).sin().sum(), E.b, create_graph=True)\nv = torch.autograd.grad(g.sum(), E.b)[0]",
    "grad of x": "v = torch.autograd.grad((x.sin() * 2).sum(), x)[0] if x.requires_grad and torch.is_grad_enabled() else x * 2",
    "backward of x": "(x * 2).sum().backward()\nv = x * 2",
    "penalty": "y = x * E.b\nv = (torch.autograd.grad(y.sum(), E.b, create_graph=True)[0] ** 2).sum() + y.sum()",
    "function of autograd": "v = Square.apply(x)",
    "checkpoint": "v = torch.utils.checkpoint.checkpoint(E.net, x, use_reentrant=False)",
    "hook": "y = x * E.b\ny.register_hook(lambda g: g * E.number) if y.requires_grad else None\nv = y * 2",
    "hook on b": "h = E.b.register_hook(lambda g: g * 2)\n(E.b * 3).sum().backward()\nh.remove()\nv = x * 2",
    "retain": "y = E.b * 2\ny.retain_grad() if y.requires_grad else None\nv = x + y",
    "detach": "v = x * E.b.detach()",
    "step": "E.optimizer.zero_grad()\n(E.net(x) ** 2).sum().backward()\nE.optimizer.step()\nv = x * 2",
    "adam": "E.adam.zero_grad()\n(F.linear(x, E.w) + E.b).square().sum().backward()\nE.adam.step()\nv = x * 2",
    "clip": "(x * E.b).sum().backward()\nv = x * torch.nn.utils.clip_grad_norm_([E.b], 1.0)",
    "two backwards": "l = (x * E.b).sum()\nl.backward(retain_graph=True)\nl.backward()\nv = x * 2",
    "read gradient": "v = x * (2 if E.b.grad is None else E.b.grad)",
    "zero": "E.optimizer.zero_grad()\nv = x * 2",
    # functions of functions
    "vmap": "v = torch.func.vmap(lambda r: r * E.buffer)(x.reshape(-1, 4))",
    "func.grad": "v = torch.func.grad(lambda r: (r * E.buffer).sin().sum())(x)",
    "jvp": "v = torch.func.jvp(lambda r: r.sin() * E.number, (x,), (torch.ones_like(x),))[1]",
    "jacrev": "v = torch.func.jacrev(lambda r: (r * E.buffer).sin())(x.reshape(-1)[:4])",
    "functional_call": "v = torch.func.functional_call(E.net, {'inner.weight': E.w * 2}, (x,))",
    "hessian": "v = torch.func.hessian(lambda r: (r ** 3).sum())(x.reshape(-1)[:2])",
    "vmap random": "v = torch.func.vmap(lambda r: r + torch.rand(4), randomness='different')(x.reshape(-1, 4))",
    # Python
    "generator expression": "v = x * sum(k for k in (E.number, E.count))",
    "zip": "v = sum(a * b for a, b in zip(E.tensors, (2, 3))) + x",
    "recursion": "def r(n, y): return y if n <= 0 else r(n - 1, y * 2)\nv = r(E.count, x)",
    "try": "try:\n    v = x @ x\nexcept RuntimeError as error:\n    v = x * len(str(error).splitlines()[0])",
    "raise": "if E.count > 3:\n    raise ValueError('too many')\nv = x * 2",
    "half-way": "E.buffer.mul_(0.5)\nE.steps += 1\nif E.count > 2:\n    raise KeyError('half')\nv = x * E.buffer",
    "assert": "assert x.shape[-1] == 4, 'four'\nv = x * 2",
    "finally": "try:\n    v = x / E.number\nfinally:\n    E.steps += 1",
    "yield": "def g():\n    for t in E.tensors:\n        yield t * E.number\nv = x + sum(g())",
    "sorted": "v = x * sorted(E.items)[0]",
    "map": "v = sum(map(lambda t: t * x, E.tensors))",
    "isinstance": "v = x * 2 if isinstance(E.last, torch.Tensor) else x * 3",
    "deepcopy": "v = copy.deepcopy(x.detach()) * 2",
    "pickle": "v = pickle.loads(pickle.dumps(E.number)) * x",
    "comprehension": "v = torch.stack([t * x.sum() for t in E.tensors])",
    "walrus": "v = (y := x * 2) + y",
    "nested": "v = E.inner(x) if E.inner is not None else x * 2",
    "star": "v = torch.cat([x, *[t.expand_as(x) for t in E.tensors]])",
    "closure": "k = E.number\ndef c(y):\n    nonlocal k\n    k += 1\n    return y * k\nv = c(c(x))",
    "string": "v = x * {'sin': 2, 'cos': 3}.get(E.name, 4)",
    "all": "v = x * all(E.items) + any(E.items)",
    "hash": "v = x * 2 if hash(E.name) == hash('sin') else x * 3",
    "id": "v = x * 2 if id(E.b) == id(E.net) else x * 3",
    "print": "print(end='')\nv = x * 2",
    "dir": "v = x * len(vars(E.holder))",
    "lru": "v = x * cached(E.number)",
    "compiled": "v = COMPILED(x)",
    "tuple": "v = (x * 2, {'a': x + 1, 'n': E.number}, None)",
    "x itself": "v = x",
    "weight itself": "v = E.w",
    "view": "v = x[..., 1:]",
    "expand": "v = x.sum().expand(3)",
    "view of weight": "v = E.w[0]",
    "twice": "y = x * 2\nv = [y, y, y.detach()]",
    "transposed": "v = x.reshape(-1, 4).t()",
    "complex": "v = torch.view_as_complex(x.reshape(-1, 2)).abs()",
    "int result": "v = (x > 0).long().sum()",
    "number result": "v = E.number * 2",
    "gather": "v = x[..., torch.tensor([0, 2])]",
    "meta": "v = torch.empty(3, device='meta') * 2",
    "lock": "with LOCK:\n    v = x * 2",
    "gc": "gc.collect()\nv = x * 2",
    "warn": "warnings.warn('seen')\nv = x * 2",
    "iterator": "v = x * next(E.iterator, 2.0) if hasattr(E, 'iterator') else x",
    "thread": "out = []\nt = threading.Thread(target=lambda: out.append(x.detach() * E.number))\nt.start()\nt.join()\nv = out[0]",
    "mode": "v = x.sin().cos()",
    "long": "v = x\nfor k in range(E.count): v = v.sin() + E.buffer * k",
}

# ---- what happens to a world between calls ---------------------------------------------------------------------------
CHANGES = {
    "nothing": "",
    "number": "E.number = r.choice([0.5, 2.0, -1.0, 0.0, 3, 1.5])",
    "count": "E.count = r.choice([0, 1, 2, 3, 5])",
    "flag": "E.flag = not E.flag",
    "name": "E.name = r.choice(['sin', 'cos', 'exp'])",
    "items": "E.items[r.randrange(2)] = r.choice([0.0, 3.0])",
    "more items": "E.items.append(1.0)",
    "queue": "E.queue.append(r.random())",
    "w": "E.w = tensor(4, 4, seed=r.randrange(9)).requires_grad_()",
    "w values": "E.w.data.mul_(0.5)",
    "w data": "E.w.data = tensor(4, 4, seed=r.randrange(9))",
    "w layout": "E.w.data = E.w.data.t().contiguous().t()",
    "freeze w": "E.w.requires_grad_(not E.w.requires_grad)",
    "b": "E.b = nn.Parameter(tensor(4, seed=r.randrange(9)))",
    "b grad": "E.b.grad = r.choice([None, torch.ones(4)])",
    "w grad": "E.w.grad = r.choice([None, torch.ones(4, 4)])",
    "buffer": "E.buffer = tensor(4, seed=r.randrange(9))",
    "buffer values": "E.buffer.fill_(r.random())",
    "buffer dtype": "E.buffer = E.buffer.to(r.choice([torch.float64, torch.float32]))",
    "buffer shape": "E.buffer = tensor(r.choice([1, 4]), seed=3)",
    "buffer alias": "E.buffer = E.tensors[0]",
    "buffer grad": "E.buffer = E.buffer.detach().requires_grad_(r.random() < .5)",
    "tensors": "E.tensors.append(tensor(4, seed=7))",
    "swap": "E.tensors.reverse()",
    "table": "E.table['k'] = r.random()",
    "table key": "E.table[r.choice('abcd')] = tensor(4, seed=8)",
    "train": "E.net.train(not E.net.training)",
    "eval norm": "E.net.norm.eval()",
    "p": "E.net.drop.p = r.choice([0.0, 0.5, 1.0])",
    "scale": "E.net.scale = r.random()",
    "new layer": "E.net.inner = nn.Linear(4, 4)",
    "net hook": "E.hooks.append(E.net.register_forward_hook(lambda m, i, o: o * 1.5))",
    "net pre hook": "E.hooks.append(E.net.register_forward_pre_hook(lambda m, i: (i[0] + 1,)))",
    "b hook": "E.hooks.append(E.b.register_hook(lambda g: g * 2)) if E.b.requires_grad else None",
    "w hook": "E.hooks.append(E.w.register_post_accumulate_grad_hook(lambda p: E.called.append(1))) if E.w.requires_grad else None",
    "optimizer hook": "E.hooks.append(E.optimizer.register_step_pre_hook(lambda *a: E.called.append(2)))",
    "backward hook": "E.hooks.append(E.net.register_full_backward_hook(lambda m, i, o: (i[0] * 2,) if i[0] is not None else None))",
    "remove hook": "E.hooks and E.hooks.pop(r.randrange(len(E.hooks))).remove()",
    "parametrize": "torch.nn.utils.parametrize.is_parametrized(E.net.inner) or torch.nn.utils.parametrize.register_parametrization(E.net.inner, 'weight', Doubling())",
    "unparametrize": "torch.nn.utils.parametrize.is_parametrized(E.net.inner) and torch.nn.utils.parametrize.remove_parametrizations(E.net.inner, 'weight')",
    "load": "E.net.load_state_dict({k: v * 0.9 if v.is_floating_point() else v for k, v in E.net.state_dict().items()})",
    "assign": "E.net.load_state_dict({k: v.clone() for k, v in E.net.state_dict().items()}, assign=True)",
    "own": "E.holder.own = r.choice([3.0, 6.0])",
    "factor": "E.holder.factor = r.random()",
    "class factor": "type(E.Holder).__setattr__(E.Holder, 'factor', r.choice([2.0, 5.0]))",
    "new holder": "E.holder = Holder()\nE.weak = weakref.ref(E.holder)",
    "method": "E.holder.method = lambda x: x * 7",
    "function": "E.function = r.choice([lambda x: x * 3, lambda x: x.sin(), torch.cos, Square.apply])",
    "partial": "E.partial = functools.partial(torch.add, alpha=r.random())",
    "array": "E.array[1] = r.random()",
    "variable": "E.variable.set(r.random())",
    "local": "E.local.x = r.random()",
    "environment": "os.environ['PELLUCID_FUZZ'] = r.choice(['1', '3'])",
    "generator": "E.generator.manual_seed(r.randrange(9))",
    "lr": "E.optimizer.param_groups[0]['lr'] = r.random() / 10",
    "momentum": "E.optimizer.param_groups[0]['momentum'] = r.choice([0.0, 0.9])",
    "new optimizer": "E.optimizer = torch.optim.SGD([E.w, E.b], lr=0.2)",
    "new adam": "E.adam = torch.optim.Adam([E.w, E.b], lr=r.choice([0.01, 0.1]))",
    "zero": "E.optimizer.zero_grad(set_to_none=r.random() < .5)",
    "log": "E.log.clear()",
    "last": "E.last = r.choice([None, 3.0, tensor(2, 4, seed=4)])",
    "detach last": "E.last = E.last.detach() if isinstance(E.last, torch.Tensor) else E.last",
    "kept": "E.kept = tensor(2, 4, seed=r.randrange(9))",
    "kept values": "E.kept.mul_(2)",
    "global": "G['GLOBAL'] = r.choice([1.0, 2.0, 4.0])",
    "inner": "E.inner = r.choice([None, torch.compile(lambda x: x * E.number) if C else (lambda x: x * E.number), E.net])",
    "slice": "E.slice = slice(0, r.choice([1, 2]))",
    "dtype": "E.dtype = r.choice([torch.float32, torch.float64, torch.bfloat16])",
    "steps": "E.steps = r.choice([0, 10, 2.5])",
    "fresh": "E.fresh = 5.0",
    "iterator": "E.iterator = iter([1.0, 2.0])",
    "tie": "E.net.inner.weight = E.shared.weight",
    "b is buffer": "E.b.data = E.buffer.detach().reshape(-1)[:1].expand(4).clone()",
    "w is transposed": "E.w = E.w.detach().t().requires_grad_()",
    "shared data": "E.b.data = E.buffer.data if E.buffer.shape == (4,) and E.buffer.dtype == torch.float32 else E.b.data",
    "code": "E.holder.__class__ = E.Holder",
    "special": "setattr(E.Holder, '__getitem__', lambda self, k: k * 9.0)",
    "delete": "E.table.pop('b', None)",
    "half": "E.net.double() if r.random() < .3 else E.net.float()",
    "seed": "torch.manual_seed(r.randrange(9))",
}


# ---- around a call -----------------------------------------------------------------------------------------------------
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        return (
            made * 2
            if getattr(func, "__name__", "") == "cos" and isinstance(made, torch.Tensor)
            else made
        )


@contextlib.contextmanager
def _default(kind: Any) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _deterministic() -> Any:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


AROUND = {
    "plain": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "enable_grad": torch.enable_grad,
    "set_grad": lambda: torch.set_grad_enabled(False),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "no autocast": lambda: torch.autocast("cpu", enabled=False),
    "default dtype": lambda: _default(torch.float64),
    "deterministic": _deterministic,
    "anomaly": torch.autograd.detect_anomaly,
    "mode": Mode,
    "device": lambda: torch.device("cpu"),
    "meta": lambda: torch.device("meta"),
    "saved hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t),
    "eager stance": lambda: torch.compiler.set_stance("force_eager"),
    "fork_rng": torch.random.fork_rng,
    "flags": lambda: torch.autograd.set_multithreading_enabled(False),
}


def _threaded(f: Any, x: Any) -> Any:
    got: list[Any] = []

    def run() -> None:
        try:
            got.append((True, f(x)))
        except BaseException as error:  # told to the caller
            got.append((False, error))

    t = threading.Thread(target=run)
    t.start()
    t.join()
    if got[0][0]:
        return got[0][1]
    raise got[0][1]


def _total(v: Any) -> Any:
    return sum(
        (t.double().sin().sum() for t in tensors_in(v) if t.dtype.is_floating_point),
        torch.zeros((), dtype=torch.float64),
    )


HOW = {
    "call": lambda f, x: f(x),
    "thread": _threaded,
    "vmap": lambda f, x: torch.func.vmap(f, randomness="different")(torch.stack([x, x * 2])),
    "func.grad": lambda f, x: torch.func.grad(lambda y: _total(f(y)).to(y.dtype))(x),
    "jvp": lambda f, x: torch.func.jvp(lambda y: _total(f(y)), (x,), (torch.ones_like(x),)),
    "jacrev": lambda f, x: torch.func.jacrev(lambda y: _total(f(y)))(x),
    "keyword": lambda f, x: f(x=x),
    "checkpoint": lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False),
    "twice": lambda f, x: [f(x), f(x)],
    "of result": lambda f, x: f(f(x)[0]),
    "in backward": lambda f, x: _in_backward(f, x),
    "dual": lambda f, x: _dual(f, x),
}


def _in_backward(f: Any, x: Any) -> Any:
    got: list[Any] = []
    y = x.detach().clone().requires_grad_()
    z = y * 2
    z.register_hook(lambda g: got.append(f(g)))
    z.sum().backward()
    return got


def _dual(f: Any, x: Any) -> Any:
    with torch.autograd.forward_ad.dual_level():
        made = f(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))
        return [tuple(torch.autograd.forward_ad.unpack_dual(t)) for t in tensors_in(made)]


X = {
    "plain": lambda E, d: d,
    "grad": lambda E, d: d.requires_grad_(),
    "twos": lambda E, d: (d * 2).requires_grad_(),
    "other": lambda E, d: d[:1].clone(),
    "many": lambda E, d: d.repeat(3, 1),
    "vector": lambda E, d: d[0].clone(),
    "three": lambda E, d: d.reshape(1, 2, 4).clone(),
    "transposed": lambda E, d: tensor(4, 2, seed=4).t(),
    "strided": lambda E, d: d.repeat(1, 2)[:, ::2],
    "expanded": lambda E, d: d[:1].expand(2, 4),
    "offset": lambda E, d: torch.cat([d, d])[2:],
    "double": lambda E, d: d.double(),
    "half": lambda E, d: d.bfloat16(),
    "ints": lambda E, d: (d * 3).long(),
    "empty": lambda E, d: d[:0].clone(),
    "nonleaf": lambda E, d: d.requires_grad_() * 2,
    "nonleaf sin": lambda E, d: d.requires_grad_().sin(),
    "view of leaf": lambda E, d: d.requires_grad_()[:],
    "parameter": lambda E, d: nn.Parameter(d),
    "kept": lambda E, d: E.kept,
    "part of kept": lambda E, d: E.kept[:1],
    "w": lambda E, d: E.w,
    "w detached": lambda E, d: E.w.detach(),
    "of w": lambda E, d: E.w * 2,
    "buffer": lambda E, d: E.buffer,
    "with grad": lambda E, d: _with_grad(d),
    "marked": lambda E, d: _marked(d),
    "written": lambda E, d: d.add_(0),
    "inference": lambda E, d: _inferred(d),
    "hooked": lambda E, d: _hooked(d),
    "last": lambda E, d: (
        E.last if isinstance(E.last, torch.Tensor) and E.last.shape[-1:] == (4,) else d
    ),
    "nan": lambda E, d: d / 0,
    "wrong": lambda E, d: d[:, :3].clone(),
    "meta": lambda E, d: d.to("meta"),
    "retained": lambda E, d: _retained(d),
    "subclass": lambda E, d: d.as_subclass(Sub),
    "complex": lambda E, d: torch.complex(d, d),
    "bool": lambda E, d: d > 0,
    "readonly": lambda E, d: torch.from_numpy(np.broadcast_to(d.numpy(), (2, 4))),
    "conj": lambda E, d: d.T.contiguous().T,
}


class Sub(torch.Tensor):
    pass


def _with_grad(d: Any) -> Any:
    d.requires_grad_()
    d.grad = torch.ones_like(d)
    return d


def _marked(d: Any) -> Any:
    d.mark = 4.0
    return d


def _inferred(d: Any) -> Any:
    with torch.inference_mode():
        return d * 1


def _hooked(d: Any) -> Any:
    d.requires_grad_().register_hook(lambda g: g * 3)
    return d


def _retained(d: Any) -> Any:
    y = d.requires_grad_() * 2
    y.retain_grad()
    return y


def tensors_in(v: Any) -> list[Any]:
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, dict):
        v = list(v.values())
    return [t for x in v for t in tensors_in(x)] if isinstance(v, (list, tuple)) else []


AFTER = ["nothing", "backward", "grad", "write", "keep", "backward twice", "double", "drop"]


def _after(how: str, E: Any, x: Any, result: Any) -> Any:
    """What a caller does with results."""
    found = [t for t in tensors_in(result) if t.requires_grad and t.dtype.is_floating_point]
    if how == "write":
        for t in tensors_in(result):
            with torch.no_grad():
                t.mul_(2)
        return None
    if how == "keep":
        E.last = tensors_in(result)[0] if tensors_in(result) else None
    if not found or how in ("nothing", "keep", "drop"):
        return None
    total = sum((t.double() * 1.5).sin().sum() for t in found)
    if how == "backward":
        total.backward()
    elif how == "backward twice":
        total.backward(retain_graph=True)
        total.backward()
    elif how in ("grad", "double"):
        leaves = [t for t in (x, E.w, E.b, *E.net.parameters()) if t.requires_grad]
        return torch.autograd.grad(total, leaves, allow_unused=True) if leaves else None
    return None


# ---- running ---------------------------------------------------------------------------------------------------------------
FOLDERS: dict[str, Any] = {}


def source_of(lines: list[str]) -> str:
    text = "def step(x):\n    outs = []\n"
    for name in lines:
        text += (
            "".join(f"    {line}\n" for line in LINES[name].split("\n")) + "    outs.append(v)\n"
        )
    return text + "    return outs\n"


def function_of(lines: list[str], E: Any, compiled: bool) -> tuple[Any, dict[str, Any]]:
    text, file = source_of(lines), f"/changes/{next(_numbers)}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    G: dict[str, Any] = {
        "torch": torch,
        "nn": nn,
        "F": F,
        "os": os,
        "math": math,
        "copy": copy,
        "pickle": pickle,
        "SimpleNamespace": SimpleNamespace,
        "Square": Square,
        "gc": gc,
        "threading": threading,
        "warnings": warnings,
        "E": E,
        "GLOBAL": 2.0,
        "cached": functools.lru_cache(lambda k: k * 2),
        "LOCK": threading.Lock(),
        "COMPILED": torch.compile(lambda x: (x * 2).sin())
        if compiled
        else (lambda x: (x * 2).sin()),
    }
    exec(compile(text, file, "exec"), G)
    return (torch.compile(G["step"]) if compiled else G["step"]), G


def described(v: Any, seen: dict[str, Any], depth: int = 0) -> Any:
    try:
        return _described(v, seen, depth)
    except Exception as error:
        return ["cannot be described", type(error).__name__]


def _described(v: Any, seen: dict[str, Any], depth: int = 0) -> Any:
    """A value as what can be compared: tensors as arrays and what is known of them."""
    if isinstance(v, torch.Tensor):
        if depth > 6:
            return "deep"
        base = v._base
        told = [
            type(v).__name__,
            tuple(v.shape),
            str(v.dtype),
            v.requires_grad,
            v.is_leaf,
            v.is_inference(),
            str(v.device.type),
            getattr(v, "mark", None),
            None
            if base is None
            else next((name for name, known in seen.items() if known() is base), None),
        ]
        values = (
            None
            if v.device.type == "meta"
            else v.detach()
            .resolve_conj()
            .numpy()
            .astype(complex if v.dtype.is_complex else float, copy=True)
            if v.dtype != torch.bfloat16
            else v.detach().float().numpy().astype(float)
        )
        grad = described(v.grad, seen, depth + 1) if v.is_leaf or v.retains_grad else None
        return ["tensor", told, values, grad]
    if isinstance(v, (list, tuple, collections.deque)):
        return [type(v).__name__, *[described(x, seen, depth + 1) for x in v]]
    if isinstance(v, dict):
        return ["dict", [str(k) for k in v], *[described(x, seen, depth + 1) for x in v.values()]]
    if isinstance(v, SimpleNamespace):
        return described(vars(v), seen, depth + 1)
    if isinstance(v, (bool, int, float, str, complex, type(None), np.generic)):
        return [type(v).__name__, v]
    return type(v).__name__


def state_of(E: Any, x: Any, seen: dict[str, Any]) -> Any:
    held = {
        k: v
        for k, v in vars(E).items()
        if k
        not in (
            "net",
            "optimizer",
            "adam",
            "hooks",
            "holder",
            "Holder",
            "inner",
            "generator",
            "array",
            "shared",
            "variable",
            "local",
            "function",
            "partial",
            "weak",
            "iterator",
        )
    }
    held["x"] = x
    held["x version"] = x._version if not x.is_inference() else -1
    held["versions"] = [t._version for t in (E.w, E.b, E.buffer, E.kept) if not t.is_inference()]
    held["net"] = {**dict(E.net.named_parameters()), **dict(E.net.named_buffers())}
    held["modes"] = [m.training for m in E.net.modules()]
    held["scale"] = E.net.scale
    held["optimizers"] = [
        [sorted((k, v) for k, v in s.items()) for s in o.state.values()]
        for o in (E.optimizer, E.adam)
    ]
    held["holder"] = {k: v for k, v in vars(E.holder).items() if k != "method"}
    held["array"] = E.array.tolist()
    held["grad mode"] = [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
    ]
    return described(held, seen)


def difference(a: Any, b: Any, path: str = "") -> str | None:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or not np.allclose(a, b, rtol=2e-3, atol=2e-4, equal_nan=True):
            return f"{path}: {np.array2string(a.ravel()[:4])} eager, {np.array2string(b.ravel()[:4])} compiled"
        return None
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{path}: {str(a)[:150]} eager, {str(b)[:150]} compiled"
        for k, (p, q) in enumerate(zip(a, b, strict=True)):
            found = difference(p, q, f"{path}.{k}")
            if found:
                return found
        return None
    if isinstance(a, float) and isinstance(b, float):
        return (
            None
            if math.isclose(a, b, rel_tol=2e-3, abs_tol=2e-4) or a != a and b != b
            else f"{path}: {a} eager, {b} compiled"
        )
    return None if type(a) is type(b) and (a == b) else f"{path}: {a!r} eager, {b!r} compiled"


def once(world: Any, call: list[Any], number: int, compiled: bool, stream: Any) -> Any:
    """One change and one call in a world: all that can be seen of it."""
    E, f, G = world
    change, around, how, argument, after, seed = call
    torch.set_rng_state(stream)
    told: list[Any] = []
    r = random.Random(seed)
    try:
        for line in CHANGES[change].split("\n"):
            exec(line, {**globals(), "E": E, "r": r, "G": G, "C": compiled})
    except Exception as error:
        told.append(["change raised", type(error).__name__, str(error).split("\n")[0]])
    x = X["plain"](E, tensor(2, 4, seed=number))
    try:
        x = X[argument](E, x)
    except Exception as error:
        told.append(["argument raised", type(error).__name__, str(error).split("\n")[0]])
    # By reference, and weakly: another tensor may take the place in memory of one that the call
    # replaces.
    seen = {
        name: weakref.ref(t)
        for name, t in (("x", x), ("w", E.w), ("b", E.b), ("buffer", E.buffer), ("kept", E.kept))
    }
    result = None
    try:
        with AROUND[around]():
            result = HOW[how](f, x)
        told.append(described(result, seen))
        told.append(
            [
                [
                    o is x,
                    o is E.w,
                    np.may_share_memory(o._array, x._array)
                    if isinstance(o._array, np.ndarray)
                    and isinstance(x._array, np.ndarray)
                    and o.numel()
                    and x.numel()
                    else None,
                ]
                for o in tensors_in(result)
            ]
        )
    except Exception as error:
        told.append(["raised", type(error).__name__, str(error).split("\n")[0][:150]])
    told.append(state_of(E, x, seen))
    try:
        told.append(described(_after(after, E, x, result), seen))
    except Exception as error:
        told.append(["after raised", type(error).__name__, str(error).split("\n")[0][:150]])
    told.append(state_of(E, x, seen))
    told.append(described(result, seen))
    told.append(torch.get_rng_state().numpy().sum().item())
    return told


def run(case: Any) -> str | None:
    os.environ.pop("PELLUCID_FUZZ", None)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        worlds = []
        for compiled in (False, True):
            E = make_world()
            worlds.append((E, *function_of(case["lines"], E, compiled)))
        stream = torch.get_rng_state()
        environment, recording = os.environ.get("PELLUCID_FUZZ"), torch.is_grad_enabled()
        for number, call in enumerate(case["calls"]):
            seen = []
            for compiled, world in enumerate(worlds):
                # both start from the same mode: a call that raises may leave another
                torch.set_grad_enabled(recording)
                if environment is None:
                    os.environ.pop("PELLUCID_FUZZ", None)
                else:
                    os.environ["PELLUCID_FUZZ"] = environment
                seen.append(once(world, call, number, bool(compiled), stream))
            for w in warned:
                if "fault of its own" in str(w.message):
                    return f"a fault: call {number} {call}: {w.message}\n{source_of(case['lines'])}"
            environment, recording = os.environ.get("PELLUCID_FUZZ"), torch.is_grad_enabled()
            stream = torch.get_rng_state()
            if (found := difference(seen[0], seen[1])) is not None:
                kind = _kind(seen)
                return f"{kind}: call {number} {call}: {found}\n{source_of(case['lines'])}"
    return None


def _kind(seen: Any) -> str:
    """What differs, in words that name no numbers."""
    for a, b in zip(*seen, strict=False):
        if difference(a, b) is not None:
            if (
                isinstance(b, list)
                and "double backward" in str(b[-1])
                and str(b[0]).endswith("raised")
            ):
                return "eager works and compiled raises GraphError double"
            one, other = (
                "raises " + x[1]
                if isinstance(x, list) and x and isinstance(x[0], str) and x[0].endswith("raised")
                else ""
                for x in (a, b)
            )
            return (
                f"eager {one or 'works'} and compiled {other or 'works'}"
                if one or other
                else "other values"
            )
    return "other values"


def draw(r: random.Random) -> Any:
    lines = [r.choice([*LINES]) for _ in range(r.choice([1, 1, 1, 2, 2, 3]))]
    arounds, hows, arguments = ([r.choice([*t]) for _ in range(2)] for t in (AROUND, HOW, X))
    words = {
        w
        for n in lines
        for w in LINES[n].replace(".", " ").replace("(", " ").replace(")", " ").split()
    }
    fitting = [
        c
        for c in CHANGES
        if any(w in words for w in CHANGES[c].replace(".", " ").split()[1:2] + [c])
    ] or ["nothing"]
    calls = []
    for k in range(r.choice([4, 5, 6, 8])):
        change = (
            "nothing"
            if k < 1 or r.random() < 0.4
            else r.choice(fitting)
            if r.random() < 0.6
            else r.choice([*CHANGES])
        )
        around = r.choice(arounds) if r.random() < 0.3 else "plain"
        how = r.choice(hows) if r.random() < 0.25 else "call"
        argument = r.choice(arguments) if r.random() < 0.5 else r.choice(["plain", "grad"])
        calls.append(
            [
                change,
                around,
                how,
                argument,
                r.choice(AFTER) if r.random() < 0.5 else "nothing",
                r.randrange(1000),
            ]
        )
    return {"lines": lines, "calls": calls}


def smaller(case: Any) -> Any:
    lines, calls = case["lines"], case["calls"]
    for k in range(len(lines)):
        if len(lines) > 1:
            yield {"lines": lines[:k] + lines[k + 1 :], "calls": calls}
    for k in range(len(calls)):
        if len(calls) > 1:
            yield {"lines": lines, "calls": calls[:k] + calls[k + 1 :]}
    for k, call in enumerate(calls):
        for j, simple in enumerate(["nothing", "plain", "call", "plain", "nothing"]):
            if call[j] != simple:
                yield {
                    "lines": lines,
                    "calls": [*calls[:k], [*call[:j], simple, *call[j + 1 :]], *calls[k + 1 :]],
                }
