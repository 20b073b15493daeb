"""Error messages for saved values of a node that are gone: freed by backward, or overwritten."""

from __future__ import annotations

import re
import sys
from typing import Any

from ... import dtypes
from ...errors import GraphError
from .. import source
from ..tensor import Tensor, VersionCounter, node_of
from .outdated import BASE_WRITTEN, refusal

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)


def freed(node: Any) -> Exception:
    """The error for saved values that an earlier backward freed."""
    advice = (
        "to carry state from one step to the next, detach() it; "
        "for two losses, add them and call backward once"
    )
    made, ended = (
        _place(node.line),
        _place(source.describe(node.total if isinstance(node.total, tuple) else None)),
    )
    facts = [f"{node.op.grad_name} was recorded at {made}"] if made is not None else []
    facts += [f"its saved values were freed by backward at {ended}"] if ended is not None else []
    hint = "; ".join([" and ".join(facts), advice] if facts else [advice])
    return GraphError(FREED, op=node.op.grad_name, hint=hint)


references = sys.getrefcount


def _unshared() -> int:
    """The result of `references` for a version counter that only one variable and one other object
    refer to.
    """
    holder = [VersionCounter()]
    version = holder[0]
    return references(version)


UNSHARED = _unshared()


def _place(line: Any) -> str | None:
    """A line of the program as `file:number`, without its text."""
    return None if line is None else str(line).split("  ", 1)[0]


def overwritten(node: Any) -> Exception:
    """The error for a saved value that was overwritten, naming both operations."""
    # PyTorch has several nodes here: report the one that saved the value
    if node.op.nodes is not None:
        changed_one = (
            n for n in node.op.nodes(node) if sum(v.count for v in n.versions) != n.total
        )
        node = next(changed_one, node)
    written = [v for v in node.versions if v.writer is not None]
    # prefer counters with a known line: it is captured when a node or view shares the counter
    changed = [v for v in written if v.writer[1] is not None] or written or list(node.versions)
    version = changed[0]
    array: Any = None
    maker = ""
    plan = node.plan
    by_steps = "steps_of_cells" in node.op.traits
    if by_steps:
        kept = {
            node.op.args[plan.entries[position][1]]: v
            for position, v in zip(plan.versioned, node.versions, strict=False)
        }
        version = next((kept[w] for w in _BY_STEPS if kept.get(w) in changed), version)
    for position, v in zip(plan.versioned, node.versions, strict=False):
        if v is version:
            array = node.saved[position]
            maker = (
                _maker(node, plan.entries[position], v)
                if plan.entries[position][0] in ("in", "out") and not by_steps
                else ""
            )
            if by_steps:
                array, maker = _in_cells(node, array, plan.entries[position], v)
    # `array` may also be a list of arrays
    # the value is not among the saved ones, but belongs to a leaf that backward reads
    if array is None:
        edges = (node.ext or {}).get("of", (None,))[0] or node.inputs
        leaf = (e for e in edges if isinstance(e, Tensor) and e._ver is version)
        array = getattr(next(leaf, None), "_array", None)
    # The node only keeps the sum of the counters. The writes since then are divided evenly among
    # the counters that were ever written to.
    expected = max(
        0,
        version.count - max(1, (sum(v.count for v in node.versions) - node.total) // len(changed)),
    )
    return _overwritten(node, array, maker, version, expected)


# values that the nodes of a recurrent layer save, in the order in which backward checks them
_BY_STEPS = ("w_hh", "w_ih", "input", "hx")


def _in_cells(node: Any, array: Any, entry: tuple[str, int], version: Any) -> tuple[Any, str]:
    """A saved value of a recurrent layer as PyTorch's per-step nodes save it, and PyTorch's words
    for where they have it from.
    """
    word, edge = node.op.args[entry[1]], node.inputs[entry[1]]
    layer = "reverse" in node.params  # otherwise it is a single step (a cell)
    if word == "hx" and edge is not None and layer:
        told = refusal(edge, "multi", BASE_WRITTEN).split(" is a view", 1)[1]
        raise GraphError(f"Output 0 of Unbind is a view{told}")
    if word not in ("w_ih", "w_hh") and not (word == "input" and array.ndim > 2):
        return array, _maker(node, entry, version)
    made = array.T if word != "input" else array.reshape(-1, array.shape[-1])
    return made, "" if edge is None else ", which is output 0 of AsStrided,"


def overwritten_value(
    node: Any, array: Any, entry: tuple[str, int], version: Any, expected: int
) -> Exception:
    """As `overwritten`, for a known value: an argument ("in") or a result ("out") of a node."""
    return _overwritten(node, array, _maker(node, entry, version), version, expected)


def _overwritten(node: Any, array: Any, maker: str, version: Any, expected: int) -> Exception:
    name = dtypes.BY_NUMPY[array.dtype].scalar_type_name if hasattr(array, "dtype") else "Float"
    shape = list(getattr(array, "shape", ()))
    writer, site = version.writer or ("an in-place operation", None)
    lines = []
    made = node.line
    lines.append(f"{node.op.grad_name} saved it" + (f" at {made}" if made else ""))
    wrote = source.describe(site)
    lines.append(f"{writer} overwrote it" + (f" at {wrote}" if wrote else ""))
    return GraphError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{name}Tensor {shape}]{maker} is at version {version.count}; expected version {expected} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False).",
        op=node.op.grad_name,
        notes=lines,
        hint=f"use the out-of-place form of {writer}, or clone() the tensor before writing to it",
    )


def _maker(node: Any, entry: tuple[str, int], version: Any) -> str:
    """PyTorch's words for the origin of a saved value: ', which is output 0 of Exp,'.

    An argument is reported as output 0 of the node that the last write gave it. A view of a tensor
    that was written to has been recomputed, so it is an output of `AsStrided`.

    Raises:
        RuntimeError: the value is one of several views, which are refused after a write.
    """
    if entry[0] == "out":
        return f", which is output {entry[1]} of {_short(type(node).__name__)},"
    edge: Any = node.inputs[entry[1]]
    source_node = node_of(edge)
    if source_node is None or isinstance(source_node, Tensor):
        return ""
    if source_node.op.view and source_node.op.outputs != 1:
        raise GraphError(refusal(edge, "multi", BASE_WRITTEN))
    reference, last = version.node or (None, type(source_node))
    written = reference and reference()
    view = source_node.op.view and not _turned(source_node, written)
    title = "AsStridedBackward0" if view else (last if written is None else type(written)).__name__
    return f", which is output 0 of {_short(title)},"


def _turned(node: Any, written: Any) -> bool:
    """Whether `node` belongs to a view operation that was applied in place (`t_`). A later write to
    the same tensor is then recorded behind it.
    """
    while written is not None and type(written) is not Tensor:
        if written is node:
            return True
        edge = written.inputs[0] if written.inputs else None
        written = node_of(edge)
    return False


def _short(name: str) -> str:
    """A node's name as these messages print it: `Clamp1` for ClampBackward1."""
    made = re.fullmatch(r"(.*)Backward(\d*)", name)
    return made[1] + made[2].removeprefix("0") if made else f"torch::autograd::{name}"
