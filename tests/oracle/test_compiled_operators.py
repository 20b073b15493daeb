"""PyTorch's operator samples through compiled functions: results and gradients are eager's, also
for values that were not traced.

Only the samples are PyTorch's; what they are compared with is this library without the compiler.
"""

import itertools
import os
import re
import types
import warnings
from collections import Counter

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
samples_module = pytest.importorskip(
    "torch.testing._internal.common_methods_invocations",
    reason="PyTorch's samples need more packages",
)

# Memory that nobody wrote has no values to compare.
UNINITIALISED = re.compile(r"(new_)?empty|resize_")
PER_OPERATOR = {"forward": 1, "gradients": 2}
# How many calls are compiled at least, so that samples cannot get lost unseen.
FLOORS = {"forward": 640, "gradients": 970}
# The dtype of an operator's samples: the first of these that it takes.
KINDS = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
# What runs eagerly: shapes and numbers of entries that depend on values, and places in an
# argument's memory.
EAGER = set(
    "argwhere bincount masked_select nn.functional.one_hot nonzero repeat_interleave unique unique_consecutive _segment_reduce "
    "as_strided as_strided_copy as_strided_scatter to_sparse".split()
)


# What is given sorted values, and says nothing of others.
SORTED = {"searchsorted", "bucketize"}


# ---- PyTorch's values as ours -----------------------------------------------------------------------
def carried(x, grad):
    """A sample's argument, or what is in it, as this library's."""
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided or x.device.type != "cpu" or x.is_quantized:
            raise NotImplementedError("a tensor of another kind")
        a = x.detach().resolve_conj().resolve_neg()
        made = pellucid.from_numpy((a.float() if a.dtype is torch.bfloat16 else a).numpy().copy())
        made = made.to(pellucid.bfloat16) if a.dtype is torch.bfloat16 else made
        return made.requires_grad_(grad and x.requires_grad)
    if isinstance(x, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(pellucid, str(x).removeprefix("torch."))
    if isinstance(x, torch.device):
        return pellucid.device(str(x))
    if isinstance(x, (list, tuple)):
        return (list if isinstance(x, list) else tuple)(carried(v, grad) for v in x)
    if isinstance(x, dict):
        return {k: carried(v, grad) for k, v in x.items()}
    if isinstance(x, slice):
        return slice(*(carried(v, grad) for v in (x.start, x.stop, x.step)))
    if (type(x).__module__ or "").startswith("torch"):
        raise NotImplementedError(f"a {type(x).__name__}")
    return x


def counterpart(op):
    """This library's function for an operator; PyTorch's own wrappers with this library in
    PyTorch's place.
    """
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        scope = dict(
            op.op.__globals__,
            torch=pellucid,
            wrapper_set_seed=lambda f, *args, **kwargs: f(*args, **kwargs),
        )
        return types.FunctionType(
            op.op.__code__, scope, op.op.__name__, op.op.__defaults__, op.op.__closure__
        )
    for root in (pellucid, pellucid.Tensor):
        found = root
        for part in op.name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


def leaves(value, found):
    """The tensors in a value, appended to `found`, and the rest of it in a form that can be
    compared and filled again.
    """
    if isinstance(value, pellucid.Tensor):
        found.append(value)
        return ("tensor", len(found) - 1)
    if isinstance(value, (list, tuple)):
        return ("list" if isinstance(value, list) else "tuple", [leaves(v, found) for v in value])
    if isinstance(value, dict):
        return ("dict", {k: leaves(v, found) for k, v in value.items()})
    return ("plain", value)


def filled(form, tensors):
    kind, value = form
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {k: filled(v, tensors) for k, v in value.items()}
    return (
        value
        if kind == "plain"
        else (list if kind == "list" else tuple)(filled(v, tensors) for v in value)
    )


# ---- values -----------------------------------------------------------------------------------------
def moved(t):
    """Other values of the same kind: floats moved a little, the rest in another order, so that
    indices still fit.
    """
    a = t.detach()
    if a.dtype.is_floating_point or a.dtype.is_complex:
        a = a * 1.03125 + 0.0625 * pellucid.arange(a.numel()).remainder(3).reshape(a.shape).to(
            a.dtype
        )
        return a.requires_grad_(t.requires_grad)
    return a.reshape(-1).roll(1).reshape(a.shape)


def changed(t):
    """Values that add up to something else: less of everything, and other masks."""
    a = t.detach()
    if a.dtype.is_floating_point or a.dtype.is_complex:
        return (a * 0.5 + 0.125).requires_grad_(t.requires_grad)
    if a.dtype is pellucid.bool:
        return a ^ (pellucid.arange(a.numel()) % 3 == 0).reshape(a.shape)
    return a // 2


def array(t):
    t = t.detach()
    wider = {pellucid.bfloat16: pellucid.float32, pellucid.complex32: pellucid.complex64}
    t = t.to(wider.get(t.dtype, t.dtype))
    return t.to_dense().numpy().astype(complex if t.is_complex() else float)


def weighted(t):
    """A sum in which every element counts differently."""
    t = t.real if t.is_complex() else t
    return (t * (pellucid.arange(t.numel()).remainder(7) - 2.5).reshape(t.shape).to(t.dtype)).sum()


def same(a, b):
    one, two = [], []
    if repr(leaves(a, one)) != repr(leaves(b, two)):
        return False
    return all(
        x.shape == y.shape
        and x.dtype is y.dtype
        and np.allclose(array(x), array(y), rtol=2e-4, atol=2e-5, equal_nan=True)
        for x, y in zip(one, two, strict=True)
    )


def outcome(f, tensors):
    """What a call gives, or the error that it raises."""
    pellucid.manual_seed(1)
    try:
        return f(*[t.detach().clone().requires_grad_(t.requires_grad) for t in tensors])
    except Exception as error:
        return error


class Survey:
    """Calls of all operators, eager and compiled."""

    def __init__(self, gradients, per_operator, only=""):
        self.gradients = gradients
        self.calls = self.compiled = 0
        self.wrong = []
        self.reasons = Counter()
        for op in samples_module.op_db:
            if (
                re.search(only, op.name)
                and not UNINITIALISED.match(op.name)
                and (op.supports_autograd or not gradients)
            ):
                self.operator(op, per_operator)

    def operator(self, op, most):
        mine = counterpart(op)
        kinds = op.supported_dtypes("cpu")
        kind = next((k for k in KINDS if k in kinds), None)
        if mine is None or kind is None or self.gradients and not kind.is_floating_point:
            return
        torch.manual_seed(0)
        try:
            found = list(
                itertools.islice(op.sample_inputs("cpu", kind, requires_grad=self.gradients), 100)
            )
        except Exception:  # some samples need other hardware
            return
        for sample in found[:: max(1, len(found) // most)][:most]:
            try:
                args = (
                    carried((sample.input, *sample.args), self.gradients),
                    carried(sample.kwargs, self.gradients),
                )
            except (NotImplementedError, AttributeError):
                continue
            self.call(op, mine, args)

    def call(self, op, mine, args):
        tensors = []
        form = leaves(args, tensors)

        def f(*given):
            positional, named = filled(form, given)
            made = mine(*positional, **named)
            if not self.gradients:
                return made
            outs = []
            leaves(made, outs)
            total = sum(weighted(o) for o in outs if o.requires_grad)
            return made, pellucid.autograd.grad(
                total, [t for t in given if t.requires_grad], allow_unused=True
            )

        want = outcome(f, tensors)
        if (
            isinstance(want, Exception)
            or self.gradients
            and not any(t.requires_grad for t in tensors)
        ):
            return
        self.calls += 1
        compiled = pellucid.compile(f)
        name = f"{op.name}/{op.variant_test_name}"
        if not same(outcome(compiled, tensors), want):
            self.wrong.append(f"{name}: while it is traced")
        if not compiled.versions:
            self.reasons[compiled.history[-1] if compiled.history else "?", op.name] += 1
            return
        self.compiled += 1
        for values in (tensors, [moved(t) for t in tensors], [changed(t) for t in tensors])[
            : 1 if op.name in SORTED else 3
        ]:
            want, got = outcome(f, values), outcome(compiled, values)
            if isinstance(want, Exception):
                if type(got) is not type(want):
                    self.wrong.append(
                        f"{name}: {type(want).__name__} expected, {got if isinstance(got, Exception) else 'a result'}"
                    )
            elif not same(got, want):
                self.wrong.append(
                    f"{name}: {repr(got)[:200] if isinstance(got, Exception) else 'other values'}"
                )


@pytest.mark.parametrize("what", ["forward", "gradients"])
def test_compiled_operators_are_eager(what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        survey = Survey(
            what == "gradients", PER_OPERATOR[what], os.environ.get("PELLUCID_OPERATORS", "")
        )
    assert not survey.wrong
    assert not [f"{name}: {why}" for why, name in survey.reasons if name not in EAGER]
    assert survey.compiled >= FLOORS[what]
