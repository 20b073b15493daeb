"""What hooks of saved tensors receive over PyTorch's operator database: number, order, shapes, dtypes
and values of the tensors that PyTorch packs.

`pack_hooks.json` names the operators whose hooks see something else, by reasons. An operator that is
not in the list must agree in each sample; one that agrees must not stay in the list.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
try:
    from test_graphs import converted, counterpart, full_name
finally:
    sys.path.pop(0)
op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

SAMPLES = 4  # of each operator
REASONS = json.loads((Path(__file__).parent / "pack_hooks.json").read_text())
DIFFER = {name for names in REASONS.values() for name in names}
FLOOR = 513  # operators that agree


def packed(library, call):
    """Copies of the arrays that hooks receive during a call."""
    found = []

    def pack(t):
        found.append(np.array(t.detach().resolve_conj().resolve_neg().numpy()))
        return t

    library.manual_seed(0)
    with library.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        call()
    return found


def described(arrays):
    return [f"{a.dtype}{a.shape}" for a in arrays]


def differences(op):
    """Of each sample that differs: what PyTorch packs, what Pellucid packs."""
    kinds = op.supported_backward_dtypes("cpu")
    choice = (torch.float64, torch.float32, torch.complex128)
    kind = next((k for k in choice if k in kinds), torch.float32)
    function = counterpart(op)
    for k, sample in enumerate(op.sample_inputs("cpu", kind, requires_grad=True)):
        if k == SAMPLES:
            return
        arguments = converted((sample.input, *sample.args), [])
        named = converted(sample.kwargs, [])
        try:
            theirs = packed(torch, lambda s=sample: op.op(s.input, *s.args, **s.kwargs))
        except RuntimeError:  # of another device, or for integers
            continue
        ours = packed(pellucid, lambda a=arguments, n=named: function(*a, **n))
        if described(theirs) != described(ours):
            yield described(theirs), described(ours)
        elif not all(map(alike, theirs, ours)):
            yield "other values", described(ours)


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


def test_most_operators_agree():
    assert sum(op.supports_autograd and full_name(op) not in DIFFER for op in op_db) >= FLOOR
