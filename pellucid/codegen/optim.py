"""Optimizer updates of many parameters in one call: SGD, Adam, AdamW (float32, C-contiguous, in place).

The native code reads Python lists of arrays directly. The arithmetic has the order of operations and the fused
multiply-adds of PyTorch's per-tensor implementation on the CPU, so results agree to the last bit but for its square root
(which is not always correctly rounded). Every function returns False, having changed nothing, where it cannot serve its
arguments: other dtypes, strided or read-only arrays, unequal sizes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from pellucid.codegen import jit, target, threads
from pellucid.codegen.emit import Function, Module, Value, vector

__all__ = ["adam", "sgd"]

_F32 = np.dtype(np.float32)
GRAIN = 1 << 16  # elements a chunk, over all parameters in a row
# Where CPython's lists and NumPy's arrays keep their fields, in bytes; `_layout_known` compares them with real ones.
_LIST_ITEMS = 24
_DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = 16, 24, 32, 56, 64
_NEEDED = 0x1 | 0x100  # C-contiguous, aligned
_WRITEABLE = 0x400


@functools.cache
def _layout_known() -> bool:
    if not jit.fastcall_works():
        return False
    word, half = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    for array in (np.zeros((2, 3), np.float32), np.zeros(5)[1:], np.zeros((4, 6), np.float32)[:, ::2]):
        probe, at = [array, None], id(array)
        flags = half(at + _FLAGS).value
        fields = (
            word(word(id(probe) + _LIST_ITEMS).value).value == at,
            word(at + _DATA).value == array.ctypes.data,
            half(at + _NDIM).value == array.ndim,
            [word(word(at + _SHAPE).value + 8 * k).value for k in range(array.ndim)] == list(array.shape),
            word(at + _DTYPE).value == id(array.dtype),
            bool(flags & 0x1) == array.flags.c_contiguous and bool(flags & _WRITEABLE) == array.flags.writeable,
        )
        if not all(fields):
            return False
    return True


def _field(f: Function, thing: Value, offset: int, ctype: str) -> Value:
    return f.load(ctype, f.at(thing, offset, "i8"))


def _item(f: Function, items: Value, k: Value) -> Value:
    return f.load("ptr", _field(f, items, _LIST_ITEMS, "ptr"), k)


def _size(f: Function, array: Value) -> Value:
    size = f.var("i64", 1)
    shape = _field(f, array, _SHAPE, "ptr")
    with f.loop(0, f.extend(_field(f, array, _NDIM, "i32"), "i64")) as d:
        size.set(size.get() * f.load("i64", shape, d))
    return size.get()


def _emit_check(module: Module) -> None:
    """The number of elements of a list of arrays, or -1 unless all are float32, C-contiguous and of the sizes of `like`."""
    f = module.function("check", "i64", items="ptr", like="ptr", count="i64", dtype="ptr", flags="i64")
    total = f.var("i64", 0)
    good = f.var("i1", 1)
    with f.loop(0, f.count) as k:
        array = _item(f, f.items, k)
        size = _size(f, array)
        own = f.extend(_field(f, array, _FLAGS, "i32"), "i64") & f.flags
        same = f.emit(f"icmp eq ptr {_field(f, array, _DTYPE, 'ptr').name}, {f.dtype.name}", "i1")
        fits = same & own.compare("eq", f.flags) & size.compare("eq", _size(f, _item(f, f.like, k)))
        good.set(good.get() & fits)
        total.set(total.get() + size)
    f.ret(f.select(good.get(), total.get(), f.const(-1, "i64")))


def _emit_update(module: Module, name: str, lists: str, numbers: str, update: Callable) -> None:
    """A kernel over all elements of all parameters; `update(f, numbers, *vectors)` returns the new values of some lists."""
    names = lists.split()
    params = dict.fromkeys(names, "ptr") | dict.fromkeys(numbers.split(), "double") | {"count": "i64", "flags": "i64"}
    f = threads.parallel_export(module, name, params)
    width = target.host().lanes("float")
    kind = vector("float", width)
    values = {n: f.splat(f.trunc(getattr(f, n), "float"), kind) for n in numbers.split()}
    position = f.var("i64", 0)
    with f.loop(0, f.count) as k:
        arrays = [_item(f, getattr(f, n), k) for n in names]
        start = position.get()
        size = _size(f, arrays[0])
        position.set(start + size)
        low = f.larger(f.begin - start, 0)
        high = f.smaller(f.end - start, size)
        with f.when(low.compare("slt", high)):
            pointers = {n: f.at(_field(f, a, _DATA, "ptr"), low) for n, a in zip(names, arrays)}

            def body(i: Value, mask: Value | None, pointers=pointers) -> None:
                vectors = {n: f.load(kind, p, i, mask=mask) for n, p in pointers.items()}
                for n, value in update(f, values, **vectors).items():
                    f.store(value, pointers[n], i, mask=mask)

            f.vector_loop(high - low, width, body)
    f.ret()


def _decayed(f: Function, v: dict[str, Value], param: Value, grad: Value) -> Value:
    """The gradient, negated to maximize, plus decay * param; an infinite parameter without decay leaves it alone."""
    g = grad * v["sign"]
    return f.select(v["decay"].compare("une", 0.0), f.fma(param, v["decay"], g), g)


def _sgd(momentum: bool, nesterov: bool, first: bool) -> Callable:
    def update(f: Function, v: dict[str, Value], param: Value, grad: Value, buf: Value | None = None):
        g = _decayed(f, v, param, grad)
        if not momentum:
            return {"param": f.fma(g, v["minus_lr"], param)}
        new = g if first else f.fma(g, v["undamped"], buf * v["momentum"])
        step = f.fma(new, v["momentum"], g) if nesterov else new
        return {"buf": new, "param": f.fma(step, v["minus_lr"], param)}

    return update


def _adam(amsgrad: bool, heavy: bool) -> Callable:
    def update(f: Function, v: dict[str, Value], param: Value, grad: Value, avg: Value, sq: Value, most=None):
        param = param * v["shrink"]
        g = _decayed(f, v, param, grad)
        # lerp(avg, g, w) from the end that is nearer, so that w = 1 gives g.
        avg = f.fma(g - avg, v["w1"], avg) if not heavy else f.fma(-(g - avg), 1.0 - v["w1"], g)
        sq = f.fma(v["w2"] * g, g, sq * v["beta2"])
        new = {"avg": avg, "sq": sq}
        root = sq
        if most is not None:
            root = new["most"] = f.select(sq.compare("ogt", most) | sq.compare("uno", sq), sq, most)
        denominator = f.sqrt(root) / v["correction"] + v["eps"]
        new["param"] = param + v["minus_step"] * avg / denominator
        return new

    return update


_SGD_NUMBERS = "decay sign minus_lr undamped momentum"
_ADAM_NUMBERS = "shrink decay sign w1 w2 beta2 correction eps minus_step"


def _build(name: str) -> str:
    module = Module()
    if name == "check":
        _emit_check(module)
    else:
        lists, numbers, update = _KERNELS[name]
        _emit_update(module, name, lists, numbers, update)
    return module.text()


_lib = jit.Library(
    "optim",
    _build,
    {
        "check": "ooipi>i",
        "sgd": "poo" + "ddddd" + "iiii",
        **{"sgd" + n + "_momentum" + s: "pooo" + "ddddd" + "iiii" for n in ("", "_nesterov") for s in ("", "_first")},
        **{"adam" + h: "poooo" + "d" * 9 + "iiii" for h in ("", "_heavy")},
        **{"amsgrad" + h: "pooooo" + "d" * 9 + "iiii" for h in ("", "_heavy")},
    },
)


# Updates of one flat parameter, for schedules: the arrays in order, the numbers, and the rule.
UPDATES: dict[str, tuple[str, str, Callable]] = {"sgd": ("param grad", _SGD_NUMBERS, _sgd(False, False, False))}
for _nesterov in (False, True):
    UPDATES["sgd" + "_nesterov" * _nesterov + "_momentum"] = ("param grad buf", _SGD_NUMBERS, _sgd(True, _nesterov, False))
for _heavy in (False, True):
    UPDATES["adam" + "_heavy" * _heavy] = ("param grad avg sq", _ADAM_NUMBERS, _adam(False, _heavy))
    UPDATES["amsgrad" + "_heavy" * _heavy] = ("param grad avg sq most", _ADAM_NUMBERS, _adam(True, _heavy))


# Those of lists of parameters: also the first steps with momentum, whose buffers are set.
_KERNELS = UPDATES | {
    "sgd" + "_nesterov" * n + "_momentum_first": ("param grad buf", _SGD_NUMBERS, _sgd(True, n, True)) for n in (False, True)
}


def emit_flat_update(module: Module, name: str, rule: str) -> None:
    """Add `name(team, arrays..., numbers, n, grain)`, which updates n contiguous elements; `numbers` points to doubles."""
    arrays, numbers, update = UPDATES[rule]
    f = threads.parallel_export(module, name, {**dict.fromkeys(arrays.split(), "ptr"), "numbers": "ptr"})
    width = target.host().lanes("float")
    kind = vector("float", width)
    values = {n: f.splat(f.trunc(f.load("double", f.numbers, k), "float"), kind) for k, n in enumerate(numbers.split())}
    pointers = {n: f.at(getattr(f, n), f.begin) for n in arrays.split()}

    def body(i: Value, mask: Value | None) -> None:
        vectors = {n: f.load(kind, p, i, mask=mask) for n, p in pointers.items()}
        for n, value in update(f, values, **vectors).items():
            f.store(value, pointers[n], i, mask=mask)

    f.vector_loop(f.end - f.begin, width, body)
    f.ret()


def adam_numbers(
    step: int, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, decoupled: bool, maximize: bool
) -> tuple[float, ...]:
    """The numbers of Adam's `step`-th update, in the order in which its kernels take them."""
    shrink, decay = (1.0 - lr * weight_decay, 0.0) if decoupled and weight_decay else (1.0, weight_decay)
    return (
        shrink,
        0.0 if decoupled else decay,
        -1.0 if maximize else 1.0,
        1.0 - beta1,
        1.0 - beta2,
        beta2,
        (1.0 - beta2**step) ** 0.5,
        eps,
        -(lr / (1.0 - beta1**step)),
    )


def sgd_numbers(lr: float, momentum: float, dampening: float, weight_decay: float, maximize: bool) -> tuple[float, ...]:
    """The numbers of an SGD update, in the order in which its kernels take them."""
    return weight_decay, -1.0 if maximize else 1.0, -lr, 1.0 - dampening, momentum


def is_heavy(beta1: float) -> bool:
    """True when Adam's mean moves by at least half towards the gradient, which is computed from the other end."""
    return bool(np.float32(1.0 - beta1) >= 0.5)


def _total(lists: list[list[np.ndarray]]) -> int:
    """The number of elements, -1 for what is not served. The second list (the gradients) is only read."""
    params = lists[0]
    count = len(params)
    if not _layout_known() or _lib.check is None or any(len(arrays) != count for arrays in lists):
        return -1
    total = 0
    for k, arrays in enumerate(lists):
        # The native code reads memory through these: nothing but arrays and lists may reach it.
        if type(arrays) is not list or set(map(type, arrays)) - {np.ndarray}:
            return -1
        flags = _NEEDED if k == 1 else _NEEDED | _WRITEABLE
        total = _lib.check(arrays, params, count, id(_F32), flags)
        if total < 0:
            return -1
    return total


def sgd(
    params: list[np.ndarray],
    grads: list[np.ndarray],
    momentum_buffers: list[np.ndarray] | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first_step: bool = False,
) -> bool:
    """One step of SGD. With momentum, `momentum_buffers` are updated, or set to the gradients on the `first_step`."""
    if momentum and momentum_buffers is None:
        return False
    lists = [params, grads] if momentum_buffers is None or not momentum else [params, grads, momentum_buffers]
    total = _total(lists)
    if total < 0:
        return False
    name = "sgd"
    if momentum:
        name += "_nesterov" * nesterov + "_momentum" + "_first" * first_step
    numbers = sgd_numbers(lr, momentum, dampening, weight_decay, maximize)
    getattr(_lib, name)(threads.team(), *lists, *numbers, len(params), 0, total, GRAIN)
    return True


def adam(
    params: list[np.ndarray],
    grads: list[np.ndarray],
    exp_avgs: list[np.ndarray],
    exp_avg_sqs: list[np.ndarray],
    max_exp_avg_sqs: list[np.ndarray] | None = None,
    *,
    step: int,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
) -> bool:
    """One step of Adam, the `step`-th (from 1); AdamW with `decoupled` decay, AMSGrad with `max_exp_avg_sqs`.

    Source: Kingma, Ba, "Adam", 2015; Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019; Reddi, Kale,
    Kumar, "On the Convergence of Adam and Beyond", 2018.
    """
    lists = [params, grads, exp_avgs, exp_avg_sqs] + ([max_exp_avg_sqs] if max_exp_avg_sqs is not None else [])
    total = _total(lists)
    if total < 0:
        return False
    numbers = adam_numbers(step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize)
    name = "amsgrad" if max_exp_avg_sqs is not None else "adam"
    name += "_heavy" * is_heavy(beta1)
    getattr(_lib, name)(threads.team(), *lists, *numbers, len(params), 0, total, GRAIN)
    return True
