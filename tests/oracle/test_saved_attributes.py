"""What nodes show of what they keep (`grad_fn._saved_self`, `grad_fn._raw_saved_self`): names and values,
over the graphs of PyTorch's operator database.

`saved_attributes.json` names by reasons the words (`SoftmaxBackward0.dim`) that have other values in some
sample. A word that is not in the list must have PyTorch's value in each sample; one that has it
must not stay in the list. No node shows a word that PyTorch's does not, and none lacks one but those
in the list.
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
REASONS = json.loads((Path(__file__).parent / "saved_attributes.json").read_text())
COMPARED = 11_400  # words of nodes
# what the comparison cannot hand over
LEFT_OUT = {
    "as_strided/partial_views",
    "nn.functional.triplet_margin_with_distance_loss",
    "sparse.mm/reduce",
    "sparse.sampled_addmm",
}


def plain(value):
    """What a word shows, to be compared."""
    if isinstance(value, (torch.Tensor, pellucid.Tensor)):
        value = value.detach()
        if value.layout in (torch.strided, pellucid.strided):
            return value.resolve_conj().resolve_neg().numpy(force=True)
        return str(value.layout).partition(".")[2]
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def alike(a, b):
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind in "fc":
            return np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
        return np.array_equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    return type(a) is type(b) and (a == b or a != a and b != b)


def shown(node, word):
    try:
        return plain(getattr(node, word))
    except RuntimeError as error:
        return type(error).__name__


def words(node):
    return [name for name in dir(node) if name.startswith(("_saved_", "_raw_saved_"))]


def pairs(first, second, seen):
    """Nodes of both libraries in the same places, as long as they have the same names."""
    if first is None or second is None or first in seen or first.name() != second.name():
        return
    seen[first] = second
    yield first, second
    for (a, _), (b, _) in zip(first.next_functions, second.next_functions, strict=False):
        yield from pairs(a, b, seen)


def nodes(op):
    kinds = op.supported_backward_dtypes("cpu")
    choice = (torch.float64, torch.float32, torch.complex128)
    kind = next((k for k in choice if k in kinds), torch.float32)
    function = counterpart(op)
    for sample in itertools.islice(op.sample_inputs("cpu", kind, requires_grad=True), SAMPLES):
        leaves = []
        arguments = converted((sample.input, *sample.args), leaves)
        named = converted(sample.kwargs, leaves)
        torch.manual_seed(0)
        try:
            result = op.op(sample.input, *sample.args, **sample.kwargs)
        except RuntimeError:  # of another device, or for integers
            continue
        pellucid.manual_seed(0)
        ours, seen = tensors_in(function(*arguments, **named), pellucid.Tensor), {}
        for a, b in zip(tensors_in(result, torch.Tensor), ours, strict=True):
            yield from pairs(a.grad_fn, b.grad_fn, seen)


def differences(op):
    """How many words were compared, and those that differ: of the one node, and of the other."""
    count, found = 0, {}
    for a, b in nodes(op):
        theirs, ours = words(a), words(b)
        count += len(theirs)
        for word in {*theirs, *ours}:
            name = f"{a.name()}.{word.partition('saved_')[2]}"
            if word not in ours or word not in theirs:
                found[name] = "missing" if word in theirs else "extra"
            elif word.startswith("_saved_") and not alike(shown(a, word), shown(b, word)):
                found.setdefault(name, f"{shown(a, word)} {shown(b, word)}")
    return count, found


@pytest.mark.filterwarnings("ignore")
def test_words_and_values_are_pytorchs():
    count, found = 0, {}
    for op in op_db:
        if op.supports_autograd and full_name(op) not in LEFT_OUT:
            compared, differ = differences(op)
            count += compared
            found |= differ
    assert count >= COMPARED
    listed = {word for names in REASONS.values() for word in names}
    assert {w: how for w, how in found.items() if w not in listed or how == "extra"} == {}
    assert listed - found.keys() == set(), "these are PyTorch's now: take them out of the list"


def test_words_with_and_without_hooks():
    """A word has the same value when its tensor went through hooks."""
    for library in (torch, pellucid):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        with library.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t + 1):
            y = x.exp()
        assert y.grad_fn._raw_saved_result.data.tolist() == (y * 2).tolist()
        assert y.grad_fn._saved_result.tolist() == (y * 2 + 1).tolist()
