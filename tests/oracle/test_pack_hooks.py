"""What hooks of saved tensors receive over PyTorch's operator database: number, order, shapes, dtypes
and values of the tensors that PyTorch packs; and the gradients where hooks hand other values back.

`pack_hooks.json` names the operators whose hooks see something else, by reasons, `unpack_hooks.json`
those whose gradients are others where the unpack hook scales what it was given: their gradient is
another formula of what is kept. An operator that is not in a list must agree in each sample; one that
agrees must not stay in the list.
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
try:
    from test_graphs import converted, counterpart, full_name, tensors_in
finally:
    sys.path.pop(0)
op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

SAMPLES = 4  # of each operator
REASONS, FORMULAS = (
    json.loads((Path(__file__).parent / f"{name}_hooks.json").read_text())
    for name in ("pack", "unpack")
)
DIFFER, OTHER = ({name for names in r.values() for name in names} for r in (REASONS, FORMULAS))
FLOOR = 530  # operators that agree


def packed(library, call):
    """Copies of the arrays that hooks receive during a call."""
    found = []

    def pack(t):
        found.extend(map(array, parts_of(t.detach())))
        return t

    def array(t):
        return np.array(t.resolve_conj().resolve_neg().numpy())

    def parts_of(t):
        if t.layout is not library.sparse_csr:
            return [t]
        return [t.crow_indices(), t.col_indices(), t.values()]

    library.manual_seed(0)
    with library.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        call()
    return found


def described(arrays):
    return [f"{a.dtype}{a.shape}" for a in arrays]


def calls(op):
    """Of each sample: the call in PyTorch, in Pellucid, and the pairs of tensors."""
    kinds = op.supported_backward_dtypes("cpu")
    choice = (torch.float64, torch.float32, torch.complex128)
    kind = next((k for k in choice if k in kinds), torch.float32)
    function = counterpart(op)
    for s in itertools.islice(op.sample_inputs("cpu", kind, requires_grad=True), SAMPLES):
        pairs = []
        a, n = converted((s.input, *s.args), pairs), converted(s.kwargs, pairs)
        yield (
            lambda s=s: op.op(s.input, *s.args, **s.kwargs),
            lambda a=a, n=n: function(*a, **n),
            [pair for pair in pairs if pair[0].requires_grad],
        )


def differences(op):
    """Of each sample that differs: what PyTorch packs, what Pellucid packs."""
    for first, second, _ in calls(op):
        try:
            theirs = packed(torch, first)
        except RuntimeError:  # of another device, or for integers
            continue
        ours = packed(pellucid, second)
        if described(theirs) != described(ours):
            yield described(theirs), described(ours)
        elif not all(map(alike, theirs, ours)):
            yield "other values", described(ours)


def gradients(library, call, leaves):
    """Of what a call returns, by the leaves, where each saved value is scaled when it is unpacked."""

    def scaled(t):
        return t * 1.25 if t.is_floating_point() or t.is_complex() else t

    library.manual_seed(0)
    with library.autograd.graph.saved_tensors_hooks(lambda t: t, scaled):
        made = [t for t in tensors_in(call(), library.Tensor) if t.requires_grad]
        if not made or not leaves:
            return []
        seeds = [library.ones_like(t) for t in made]
        found = library.autograd.grad(made, leaves, seeds, allow_unused=True)
    return [None if g is None else g.resolve_conj().resolve_neg().numpy(force=True) for g in found]


def other_gradients(op):
    """Of each sample whose gradients differ: which of them."""
    for first, second, pairs in calls(op):
        try:
            theirs = gradients(torch, first, [a for a, _ in pairs])
        except RuntimeError:
            continue
        ours = gradients(pellucid, second, [b for _, b in pairs])
        for k, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            if (a is None) is not (b is None) or a is not None and not alike(a, b):
                yield k


def alike(a, b):
    if a.dtype.kind in "fc":
        return np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
    return np.array_equal(a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", [op for op in op_db if op.supports_autograd], ids=full_name)
def test_hooks_receive_what_pytorch_packs(op):
    try:
        found = list(differences(op))
    except Exception as error:  # an operator that is not there, or refuses the sample
        found = [f"{type(error).__name__}: {error}"]
    if full_name(op) in DIFFER:
        assert found, "its hooks receive PyTorch's tensors now: take it out of pack_hooks.json"
    else:
        assert not found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "op",
    [op for op in op_db if op.supports_autograd and full_name(op) not in DIFFER],
    ids=full_name,
)
def test_gradients_are_pytorchs_of_what_is_unpacked(op):
    try:
        found = list(other_gradients(op))
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    if full_name(op) in OTHER:
        assert found, "its gradients are PyTorch's now: take it out of unpack_hooks.json"
    else:
        assert not found


def test_most_operators_agree():
    assert sum(op.supports_autograd and full_name(op) not in DIFFER for op in op_db) >= FLOOR
