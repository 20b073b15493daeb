"""What is said where a value that a node saved is gone: freed by backward, or overwritten."""

from __future__ import annotations

import re
import sys
from typing import Any

from ... import dtypes
from ...errors import GraphError
from .. import source
from ..tensor import OutputSlot, Tensor, VersionCounter
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
    """`references` of a write counter that a variable and one other object have."""
    holder = [VersionCounter()]
    version = holder[0]
    return references(version)


UNSHARED = _unshared()


def _place(line: Any) -> str | None:
    """A line of the program as `file:number`, without its text."""
    return None if line is None else str(line).split("  ", 1)[0]


def overwritten(node: Any) -> Exception:
    """The error for a saved value that was overwritten, naming both operations."""
    if node.op.nodes is not None:  # one of PyTorch's keeps it, as that one has it
        changed_one = (
            n for n in node.op.nodes(node) if sum(v.count for v in n.versions) != n.total
        )
        node = next(changed_one, node)
    changed = [v for v in node.versions if v.writer is not None] or list(node.versions)
    version = changed[0]
    array: Any = None
    maker = ""
    plan = node.plan
    for position, v in zip(plan.versioned, node.versions, strict=False):
        if v is version:
            array = node.saved[position]
            maker = (
                _maker(node, plan.entries[position], v)
                if plan.entries[position][0] in ("in", "out")
                else ""
            )
    # or a list of arrays
    # Only the sum of the counts is kept: writes since then are shared out among those that were
    # ever written to.
    expected = max(
        0,
        version.count - max(1, (sum(v.count for v in node.versions) - node.total) // len(changed)),
    )
    return _overwritten(node, array, maker, version, expected)


def overwritten_value(
    node: Any, array: Any, entry: tuple[str, int], version: Any, expected: int
) -> Exception:
    """`overwritten` for a value that is known: an argument ("in") or a result ("out") of a node."""
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
    """PyTorch's words for where a saved value came from: ', which is output 0 of Exp,'. An argument
    has the node that writes have given it since, and is always output 0; a view of what was written
    to is made anew.

    Raises:
        RuntimeError: the value is one of several views, which are refused after a write.
    """
    if entry[0] == "out":
        return f", which is output {entry[1]} of {_short(type(node).__name__)},"
    edge: Any = node.inputs[entry[1]]
    source_node = edge.node if type(edge) is OutputSlot else edge
    if source_node is None or isinstance(source_node, Tensor):
        return ""
    if source_node.op.view and source_node.op.outputs != 1:
        raise GraphError(refusal(edge, "multi", BASE_WRITTEN))
    written = version.node and version.node()
    last = "AsStridedBackward0" if source_node.op.view else type(written or source_node).__name__
    return f", which is output 0 of {_short(last)},"


def _short(name: str) -> str:
    """A node's name as these messages have it: `Clamp1` for ClampBackward1."""
    made = re.fullmatch(r"(.*)Backward(\d*)", name)
    return made[1] + made[2].removeprefix("0") if made else f"torch::autograd::{name}"
