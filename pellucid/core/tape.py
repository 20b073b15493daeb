"""Seam 3: the graph. A Node for each recorded operation, with PyTorch's face for code that walks the graph."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from .. import dtypes
from ..errors import GraphError
from . import source
from .modes import state
from .primitive import Primitive
from .tensor import OutputSlot, Tensor, make_tensor, version_of

count = itertools.count(1).__next__


class Node:
    """One recorded operation.

    Slots: `op` (the record), `inputs` (an edge per argument, repeats kept: a Node, an OutputSlot, a leaf Tensor, or None for
    what needs no gradient), `params`, `plan` (how it is differentiated), `saved` (values kept for backward; None once freed),
    `guard` and `total` (write counters of what was saved, and their sum at that time; once freed, `total` is the place of
    the backward call that freed it), `shape` and `dtype` of the result (lists for several results), `seq` (order of recording),
    `code` and `lasti` (where in the user's code), `ext` (hooks and other rare things). `versions` and `source` show `guard`, and
    `code` with `lasti`, in one form.
    """

    __slots__ = (
        "__weakref__", "code", "dtype", "ext", "guard", "inputs", "lasti", "op", "params", "plan", "saved", "seq", "shape", "total",
    )  # fmt: skip

    op: Primitive
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    plan: Any
    saved: tuple[Any, ...] | None
    guard: Any  # the write counters of what was saved: one Version, or a tuple of them (a tuple less to collect as garbage)
    total: Any
    shape: Any
    dtype: Any
    seq: int
    code: Any
    lasti: int
    ext: dict[str, Any] | None

    @property
    def versions(self) -> tuple[Any, ...]:
        """The write counters of what was saved."""
        return self.guard if type(self.guard) is tuple else (self.guard,)

    @versions.setter
    def versions(self, value: tuple[Any, ...]) -> None:
        self.guard = value[0] if len(value) == 1 else value

    @property
    def source(self) -> Any:
        """Where in the user's code the operation ran: (code, instruction), or None."""
        return None if self.code is None else (self.code, self.lasti)

    @source.setter
    def source(self, value: Any) -> None:
        self.code, self.lasti = (None, 0) if value is None else value

    # ---- PyTorch's face ----------------------------------------------------------------------
    def name(self) -> str:
        """The node's type name, such as 'MulBackward0'."""
        return type(fully_named(self)).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the inputs, with the index of the result used; (None, 0) for a constant."""
        return tuple(_as_function(edge) for edge in self.inputs)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user's own notes."""
        return self.extra().setdefault("metadata", {})

    def _sequence_nr(self) -> int:
        return self.seq

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran; it may return new grad_inputs."""
        return register(self.extra().setdefault("post_hooks", OrderedDict()), hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before this node runs; it may return new grad_outputs."""
        return register(self.extra().setdefault("pre_hooks", OrderedDict()), hook)

    # ---- reading -----------------------------------------------------------------------------
    def extra(self) -> dict[str, Any]:
        """The dictionary of rare things, made when first asked for."""
        if self.ext is None:
            self.ext = {}
        return self.ext

    @property
    def line(self) -> source.Line | None:  # type: ignore[name-defined]
        """The line of the user's program that ran the operation."""
        return source.describe(self.source)

    @property
    def role(self) -> str:
        """'backward' for a node recorded while differentiating with `create_graph=True`, else 'forward'."""
        return (self.ext or {}).get("role", "forward")

    def needs(self) -> tuple[bool, ...]:
        """Which arguments want a gradient."""
        return tuple(edge is not None for edge in self.inputs)

    def __getattr__(self, name: str) -> Any:
        # PyTorch shows what a node keeps as `_saved_self`, `_saved_other`, ... and its parameters likewise.
        if name.startswith("_saved_"):
            word = name.removeprefix("_saved_")
            word = {"self": self.op.args[0] if self.op.args else word, "result": "out"}.get(word, word)
            if word in self.params:
                return self.params[word]
            entry = self.op._entry(word)
            plan = self.plan
            if entry is not None and entry in plan.entries:
                return saved_tensors(self)[plan.entries.index(entry)]
        raise AttributeError(f"'{self.name()}' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)

_node_types: dict[str, type] = {}


def node_type(op: Primitive) -> type:
    """The subclass of Node whose name is the operation's (`MulBackward0`)."""
    return _named_type(op.grad_name)


def _named_type(name: str) -> type:
    kind = _node_types.get(name)
    if kind is None:
        kind = _node_types[name] = type(name, (Node,), {"__slots__": ()})
    return kind


def titled(result: Tensor, title: str) -> Tensor:
    """`result`, whose node goes by the name of the function that several operations make up (`MseLoss`)."""
    node = getattr(result, "_node", None)
    if isinstance(node, Node):
        node.__class__ = _named_type(title + "Backward0")
    return result


def fully_named(node: Any) -> Any:
    """The node, of the type that PyTorch would give it where that depends on the arguments; it is decided when somebody looks."""
    if isinstance(node, Node) and node.op.variant is not None and type(node).__name__ == node.op.grad_name:
        node.__class__ = _named_type(node.op.variant(node.shape, *map(_edge_shape, node.inputs)))
    return node


def _edge_shape(edge: Any) -> Any:
    """The shape of an argument; None for one without a gradient."""
    return None if edge is None else value_at(edge)[0]


def value_at(edge: Any) -> tuple[Any, Any]:
    """Shape and dtype of the value that an edge comes from."""
    if type(edge) is OutputSlot:
        return edge.node.shape[edge.index], edge.node.dtype[edge.index]
    value = edge if isinstance(edge, Node) else edge._array
    return value.shape, value.dtype


class AccumulateGrad:
    """The end of the graph at a leaf: adds what arrives to `variable.grad`."""

    __slots__ = ("__weakref__", "variable")

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    @property
    def next_functions(self) -> tuple[Any, ...]:
        return ()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict[str, Any]:
        return self.variable.extra().setdefault("metadata", {})

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after the gradient was accumulated."""
        return register(self.variable.extra().setdefault("acc_post_hooks", OrderedDict()), hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before the gradient is accumulated."""
        return register(self.variable.extra().setdefault("acc_pre_hooks", OrderedDict()), hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash(("AccumulateGrad", id(self.variable)))

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self.variable))}>"


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The leaf's AccumulateGrad, the same object as long as somebody holds it."""
    extra = leaf.extra()
    known = extra.get("accumulator")
    found = known() if known is not None else None
    if found is None:
        found = AccumulateGrad(leaf)
        extra["accumulator"] = weakref.ref(found)
    return found


def _as_function(edge: Any) -> tuple[Any, int]:
    if edge is None:
        return (None, 0)
    if isinstance(edge, Node):
        return (fully_named(edge), 0)
    if type(edge) is OutputSlot:
        return (fully_named(edge.node), edge.index)
    return (accumulator(edge), 0)


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook out again. A context manager too.

    Args:
        hooks_dict: where the hook stands, by the handle's number.
        extra_dict: further dictionaries with that number: one, or several in a list.
    """

    next_id = 0

    def __init__(self, hooks_dict: OrderedDict[int, Any], *, extra_dict: Any = ()) -> None:
        self.__setstate__((hooks_dict, self.next_id, extra_dict if isinstance(extra_dict, (tuple, list)) else (extra_dict,)))

    def remove(self) -> None:
        """Take the hook out; nothing happens when it is out already."""
        state.structure += 1
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            (ref() or {}).pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple([ref() for ref in self.extra_dict_ref])

    def __setstate__(self, given: tuple[Any, ...]) -> None:
        refs = [weakref.ref(OrderedDict() if d is None else d) for d in (given[0], *(*given, ())[2])]
        self.hooks_dict_ref, self.id, self.extra_dict_ref = refs[0], given[1], tuple(refs[1:])
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        state.structure += 1

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register(hooks: OrderedDict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    """Append a hook to an ordered dictionary and return its handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def walk(roots: Any) -> Iterator[Any]:
    """Every node below the roots (nodes and leaf tensors), each once, without recursion, consumers before producers."""
    stack, seen = list(roots), set()
    while stack:
        edge = stack.pop()
        if type(edge) is OutputSlot:
            edge = edge.node
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        yield edge
        if isinstance(edge, Node):
            stack.extend(edge.inputs)


def saved_tensors(node: Node) -> list[Any]:
    """What a node kept, as tensors joined to the graph (shapes and dtypes as they are).

    Raises:
        RuntimeError: when it was freed, or overwritten since.
    """
    check_saved(node)
    values: list[Any] = []
    if not node.saved:
        return values
    for (kind, index), value in zip(node.plan.entries, node.saved, strict=True):
        if kind == "in":
            values.append(joined(value, node.inputs[index]))
        elif kind == "ins":
            values.append([joined(v, edge) for v, edge in zip(value, node.inputs[index:], strict=True)])
        elif kind == "out":
            values.append(joined(value, node if node.op.outputs == 1 else OutputSlot(node, index)))
        elif kind == "outs":
            values.append(tuple(joined(v, OutputSlot(node, k)) for k, v in enumerate(value)))
        else:
            values.append(value)
    if node.ext is not None and "tangents" in node.ext:
        _join_tangents(node, values)
    return values


def _join_tangents(node: Node, values: list[Any]) -> None:
    """Give saved values the tangents that they had when they were saved (`core.transforms.forward_mode` noted them)."""
    assert node.ext is not None
    kept = node.ext["tangents"]
    for (kind, index), value in zip(node.plan.entries, values, strict=True):
        for k, t in enumerate(value if isinstance(value, (list, tuple)) else (value,)):
            tangents = kept.get((kind, index + k))
            if tangents and isinstance(t, Tensor) and not (t._x or {}).get("tangents"):
                t.extra()["tangents"] = dict(tangents)


def joined(value: Any, edge: Any) -> Any:
    """A tensor on a saved array with the given place in the graph."""
    if type(value) is Packed:
        value = value.array()
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(edge, Tensor):
        return edge
    result = make_tensor(value)
    if edge is not None and value.dtype.kind in "fcV":
        result._node = edge
        result._rg = True
    return result


class Packed:
    """A saved value that went through the user's saved-tensor hooks."""

    __slots__ = ("packed", "unpack_hook")

    def __init__(self, packed: Any, unpack_hook: Callable[[Any], Any]) -> None:
        self.packed = packed
        self.unpack_hook = unpack_hook

    def unpack(self) -> Any:
        return self.unpack_hook(self.packed)

    def array(self) -> Any:
        value = self.unpack()
        return value._array if isinstance(value, Tensor) else value


def saved_arrays(node: Node) -> tuple[Any, ...]:
    """What a node kept, as arrays, unpacking what saved-tensor hooks packed."""
    assert node.saved is not None
    if node.ext is None or "packed" not in node.ext:
        return node.saved
    return tuple([v.array() if type(v) is Packed else v for v in node.saved])


def check_saved(node: Node) -> None:
    """Raise unless what the node kept is still there and unchanged."""
    if node.saved is None:
        raise GraphError(FREED, op=node.op.grad_name, hint=_freed_hint(node))
    total = 0
    for version in node.versions:
        total += version.count
    if total != node.total:
        raise _overwritten(node)


def reads_later(result: Tensor, *tensors: Tensor) -> Tensor:
    """Note that the gradient of `result` reads tensors that are no arguments of its operation (labels, positions): backward refuses if they
    were written to, since kernels take them for checked. Returns `result`.
    """
    node = result._node
    if node is not None:
        node = node.node if type(node) is OutputSlot else node
        versions = tuple([version_of(t) for t in tensors])
        node.versions = (*node.versions, *versions)
        node.total += sum([v.count for v in versions])
    return result


def _freed_hint(node: Node) -> str:
    made = node.line
    freed = source.describe(node.total if isinstance(node.total, tuple) else None)
    parts = []
    if made is not None:
        parts.append(f"{node.op.grad_name} was recorded at {made}")
    if freed is not None:
        parts.append(f"its saved values were freed by the backward call at {freed}")
    parts.append(
        "if state is carried from one step to the next, detach() it; if there are two losses, add them and call backward once"
    )
    return "; ".join(parts)


def _overwritten(node: Node) -> Exception:
    """The error for a saved value that was overwritten, naming both operations."""
    changed = [v for v in node.versions if v.writer is not None] or list(node.versions)
    version = changed[0]
    array: Any = None
    maker = ""
    plan = node.plan
    assert node.saved is not None
    for position, v in zip(plan.versioned, node.versions, strict=False):
        if v is version:
            array = node.saved[position]
            maker = _maker(node, plan.entries[position]) if plan.entries[position][0] in ("in", "out") else ""
    name = dtypes.BY_NUMPY[array.dtype].scalar_type_name if hasattr(array, "dtype") else "Float"  # or a list of arrays
    shape = list(getattr(array, "shape", ()))
    # Only the sum of the counts is kept: writes since then are shared out among those that were ever written to.
    expected = max(0, version.count - max(1, (sum(v.count for v in node.versions) - node.total) // len(changed)))
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


def _maker(node: Node, entry: tuple[str, int]) -> str:
    """PyTorch's words for where a saved value came from: ', which is output 0 of Exp,'."""
    edge: Any = node if entry[0] == "out" else node.inputs[entry[1]]
    source_node, index = (edge.node, edge.index) if type(edge) is OutputSlot else (edge, entry[1] if edge is node else 0)
    if not isinstance(source_node, Node):
        return ""
    return f", which is output {index} of {source_node.op.grad_name.partition('Backward')[0]},"
