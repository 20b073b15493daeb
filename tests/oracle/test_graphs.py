"""The graphs that PyTorch's operator database leaves in both libraries: names of nodes, and what
`next_functions` shows of them.

`graphs.json` names the operators whose graphs are not PyTorch's, by reasons. An operator that is not
in the list must have PyTorch's graph in each sample; one that has it must not stay in the list.
"""

import itertools
import json
import types
from pathlib import Path

import pytest

import pellucid

torch = pytest.importorskip("torch")
op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

LIMIT = 60  # nodes of a graph
SAMPLES = 64  # of an operator, of which the most have over a thousand
REASONS = json.loads((Path(__file__).parent / "graphs.json").read_text())
DIFFER = {name for names in REASONS.values() for name in names}


COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
}


def full_name(op):
    return op.name + (f"/{op.variant_test_name}" if op.variant_test_name else "")


def converted(x, leaves):
    """The same argument for Pellucid; `leaves` gets the pairs of tensors."""
    if isinstance(x, torch.Tensor):
        t = tensor(x.detach())
        leaves.append((x, t.requires_grad_(x.requires_grad)))
        return t
    if isinstance(x, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(pellucid, str(x).split(".")[1])
    if isinstance(x, torch.device):
        return pellucid.device(str(x))
    if isinstance(x, (list, tuple)):
        return type(x)(converted(v, leaves) for v in x)
    if isinstance(x, dict):
        return {k: converted(v, leaves) for k, v in x.items()}
    if type(x) is torch.nn.PairwiseDistance:
        return pellucid.nn.PairwiseDistance(x.norm, x.eps, x.keepdim)
    if callable(x):
        raise ValueError("a function")
    return x


def tensor(x):
    """The same values in the same places of memory of the same size."""
    if x.layout in COMPRESSED:
        parts = COMPRESSED[x.layout]
        return pellucid.sparse_compressed_tensor(
            *[tensor(getattr(x, part)()) for part in (*parts, "values")],
            tuple(x.shape),
            layout=getattr(pellucid, str(x.layout).split(".")[1]),
        )
    x = x.resolve_conj().resolve_neg()
    held = x.untyped_storage().nbytes() // x.itemsize
    whole = pellucid.from_numpy(x.as_strided((held,), (1,), 0).numpy().copy())
    return whole.as_strided(x.shape, x.stride(), x.storage_offset()).detach()


def seeded(function, *args, **kwargs):
    """A call from the seed that the database has for such functions."""
    pellucid.manual_seed(42)
    return function(*args, **kwargs)


def rebound(function):
    """A function of the database's own, on Pellucid."""
    names = dict(function.__globals__)
    for name, value in function.__globals__.items():
        if value is torch:
            names[name] = pellucid
        elif value is torch.nn.functional:
            names[name] = pellucid.nn.functional
        elif name == "wrapper_set_seed":
            names[name] = seeded
    cells = [
        types.CellType(rebound(c.cell_contents))
        if isinstance(c.cell_contents, types.FunctionType)
        and (c.cell_contents.__module__ or "").startswith("torch.testing")
        else c
        for c in function.__closure__ or ()
    ]
    return types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, tuple(cells) or None
    )


def counterpart(op):
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        return rebound(op.op)
    if isinstance(op.op, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        found = pellucid.ops
        for part in str(op.op).split("."):
            found = getattr(found, part)
        return found
    for path in (op.name, f"Tensor.{op.name}", f"Tensor.{op.name}_"):
        found = pellucid
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found
    return getattr(pellucid.ops.aten, op.name, None)


def reached(x):
    """A leaf that gradients reach: windows of the database say that they want one, and get none."""
    if isinstance(x, torch.Tensor) and x.requires_grad and x.layout is torch.strided:
        with torch.enable_grad():
            if x.view_as(x).grad_fn.next_functions[0][0] is None:
                return x.detach().requires_grad_()
    return x


def tensors_in(result, kind):
    if isinstance(result, kind):
        return [result]
    return (
        [t for part in result for t in tensors_in(part, kind)]
        if isinstance(result, (list, tuple))
        else []
    )


def graph_of(t, leaves):
    """The graph under a tensor as text: `MulBackward0(x0, -)`."""
    left = [LIMIT]

    def text(node, index):
        if node is None:
            return "-"
        if node.name().endswith("AccumulateGrad"):
            return f"x{leaves.get(id(node.variable), '?')}"
        left[0] -= 1
        if left[0] < 0:
            return "..."
        return f"{node.name()}({', '.join(text(*edge) for edge in node.next_functions)}){f'.{index}' if index else ''}"

    if t.grad_fn is None:
        return "leaf" if t.requires_grad else "constant"
    return text(t.grad_fn, t.output_nr)


def graphs(op):
    """The graphs of the samples: PyTorch's, Pellucid's."""
    kinds = op.supported_backward_dtypes("cpu")
    choice = (torch.float64, torch.float32, torch.complex128)
    kind = next((k for k in choice if k in kinds), torch.float32)
    function = counterpart(op)
    for sample in itertools.islice(op.sample_inputs("cpu", kind, requires_grad=True), SAMPLES):
        pairs, sample = [], sample.transform(reached)
        arguments = converted((sample.input, *sample.args), pairs)
        named = converted(sample.kwargs, pairs)
        torch.manual_seed(0)
        try:
            result = op.op(sample.input, *sample.args, **sample.kwargs)
        except RuntimeError:  # of another device, or for integers
            continue
        theirs = tensors_in(result, torch.Tensor)
        pellucid.manual_seed(0)
        ours = tensors_in(function(*arguments, **named), pellucid.Tensor)
        first, second = ({id(pair[side]): n for n, pair in enumerate(pairs)} for side in (0, 1))
        yield [graph_of(t, first) for t in theirs], [graph_of(t, second) for t in ours]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", [op for op in op_db if op.supports_autograd], ids=full_name)
def test_graphs_are_those_of_pytorch(op):
    try:
        differences = [(a, b) for a, b in graphs(op) if a != b]
    except Exception as error:  # an operator that is not there, or refuses the sample
        differences = [("", f"{type(error).__name__}: {error}")]
    if full_name(op) in DIFFER:
        assert differences, "its graphs are PyTorch's now: take it out of graphs.json"
    else:
        assert not differences
