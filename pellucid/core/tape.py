"""Seam 3: the graph. There is one Node for each recorded operation, with PyTorch's interface for
code that walks the graph.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..arrays.numpy_cpu import is_lent
from . import source, tracing
from .display import gone
from .modes import state
from .primitive import TENSORS, Primitive
from .tensor import OutputSlot, Tensor, VersionCounter, hand_out_copies, make_tensor, version_of

numbers = itertools.count(1)
count = numbers.__next__


class Node:
    """One recorded operation.

    Slots: `op` (the record), `inputs` (an edge per argument, repeats kept: a Node, an OutputSlot, a
    leaf Tensor, or None for what needs no gradient), `params`, `plan` (how it is differentiated),
    `saved` (values kept for backward, then what only saved-tensor hooks were given; None once freed), `guard` and `total` (write counters of what
    was saved, and their sum at that time; once freed, `total` is the place of the backward call
    that freed it), `shape` and `dtype` of the result (lists for several results), `seq` (order of
    recording), `code` and `lasti` (where in the user's code), `ext` (hooks and other rare things).
    `versions` and `source` show `guard`, and `code` with `lasti`, in one form.
    """

    __slots__ = (
        "__weakref__",
        "code",
        "dtype",
        "ext",
        "guard",
        "inputs",
        "lasti",
        "op",
        "params",
        "plan",
        "saved",
        "seq",
        "shape",
        "total",
    )

    op: Primitive
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    plan: Any
    saved: tuple[Any, ...] | None
    # one VersionCounter, or a tuple of several; a single one saves a tuple for the garbage
    # collector
    guard: Any
    total: Any
    shape: Any
    dtype: Any
    seq: float  # an integer, except for nodes that are inserted only for display
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

    # PyTorch's interface (`name`, `next_functions`, `_saved_self`, hooks) is attached by
    # `core.display.nodes`.
    name: Callable[[], str]
    next_functions: tuple[tuple[Any, int], ...]
    # the inputs to show: those for which PyTorch's node has an edge
    places: Callable[[], tuple[int, ...]]
    seen: Callable[[Any], tuple[Any, Node]]
    shown: Callable[[Any], tuple[list[Any], list[int]]]

    # ---- reading -----------------------------------------------------------------------------
    def extra(self) -> dict[str, Any]:
        """The dictionary `ext`, created on first use."""
        if self.ext is None:
            self.ext = {}
        return self.ext

    @property
    def line(self) -> source.Line | None:  # type: ignore[name-defined]
        """The line of the user's program that ran the operation."""
        return source.describe(self.source)

    @property
    def role(self) -> str:
        """'backward' for a node recorded while differentiating with `create_graph=True`, else
        'forward'.
        """
        return (self.ext or {}).get("role", "forward")

    # ---- memory that is borrowed -------------------------------------------------------------
    def borrow(self, version: VersionCounter) -> None:
        """Keep memory only until the next write that `version` counts, and take a copy then. If
        writes may bypass the counter, take the copy now.
        """
        version.borrowers = [
            *(r for r in version.borrowers or () if r() is not None),
            weakref.ref(self),
        ]
        if version.exposed or any(is_lent((self.saved or ())[k]) for k in self.plan.borrowed):
            hand_out_copies(version)

    def copy_borrowed(self, version: VersionCounter) -> None:
        """Replace the borrowed values by copies, because their memory is about to be written."""
        if not self.saved or sum([v.count for v in self.versions]) != self.total:
            return  # freed already, or overwritten without notice
        saved, versions = list(self.saved), list(self.versions)
        for k in self.plan.borrowed:
            at = self.plan.versioned.index(k)
            if versions[at : at + 1] == [version] and type(saved[k]) is not Packed:
                saved[k] = Packed(make_tensor(tracing.copied(saved[k])), lambda value: value)
                versions[at] = VersionCounter()
        self.saved, self.versions = tuple(saved), tuple(versions)
        self.total = sum([v.count for v in versions])
        self.extra()["packed"] = True


_node_types: dict[str, type] = {}


def node_type(op: Primitive) -> type:
    """The subclass of Node whose name is the operation's (`MulBackward0`)."""
    return named_type(op.grad_name)


def named_type(name: str) -> type:
    """The subclass of Node with this name, created once."""
    kind = _node_types.get(name)
    if kind is None:
        kind = _node_types[name] = type(name, (Node,), {"__slots__": (), "__module__": "builtins"})
    return kind


def titled(
    result: Tensor, title: str, *linked: Tensor, of: tuple[Any, ...] = (), **shown: Any
) -> Tensor:
    """Rename the node of `result` after the public function that was called (`MseLoss`), or its
    overload (`ProdBackward1`); returns `result`.

    Args:
        result: the function's result.
        title: the name, without "Backward0".
        linked: arguments that recorded gradients stay connected to, as with the field `linked` of
            a record.
        of: the function's tensor arguments, if the node is to show edges to these only.
        shown: further values that the node shows as `_saved_<word>`.
    """
    node = getattr(result, "_node", None)
    edges = of and tuple([(x._node or x) if x is not None and x._rg else None for x in of])
    # if the node is an argument's, the function has computed nothing
    if isinstance(node, Node) and all(edge is not node for edge in edges):
        node.__class__ = named_type(title if "Backward" in title else title + "Backward0")
        if linked:
            node.extra()["linked"] = [(x._node or x, True) for x in linked if x._rg]
        if of:
            node.extra()["of"] = edges, shown
    return result


def value_at(edge: Any) -> tuple[Any, Any]:
    """The shape and dtype of the value at an edge."""
    if type(edge) is OutputSlot:
        return edge.node.shape[edge.index], edge.node.dtype[edge.index]
    value = edge if isinstance(edge, Node) else edge._array
    return value.shape, value.dtype


class RemovableHandle:
    """The result of registering a hook; `remove()` unregisters it. It is also a context manager.

    Args:
        hooks_dict: where the hook stands, by the handle's number.
        extra_dict: further dictionaries with that number: one, or several in a list.
    """

    next_id = 0

    def __init__(self, hooks_dict: OrderedDict[int, Any], *, extra_dict: Any = ()) -> None:
        self.__setstate__(
            (
                hooks_dict,
                self.next_id,
                extra_dict if isinstance(extra_dict, (tuple, list)) else (extra_dict,),
            )
        )

    def remove(self) -> None:
        """Unregister the hook; a second call does nothing."""
        state.structure += 1
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            (ref() or {}).pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple([ref() for ref in self.extra_dict_ref])

    def __setstate__(self, given: tuple[Any, ...]) -> None:
        refs = [
            weakref.ref(OrderedDict() if d is None else d) for d in (given[0], *(*given, ())[2])
        ]
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
    """Every node below the roots (nodes and leaf tensors), each once, without recursion, consumers
    before producers.
    """
    stack, seen = list(roots), set()
    while stack:
        edge = stack.pop()
        edge = edge.node if type(edge) is OutputSlot else edge
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        yield edge
        if isinstance(edge, Node):
            stack.extend(edge.inputs)


def saved_tensors(node: Node) -> list[Any]:
    """The values that a node saved, as tensors with their place in the graph. Shapes and dtypes are
    returned unchanged.

    Raises:
        RuntimeError: when it was freed, or overwritten since.
    """
    check_saved(node)
    values: list[Any] = []
    if not node.saved:
        return values
    for (kind, index), value in zip(node.plan.entries, node.saved, strict=False):
        if kind == "in":
            values.append(joined(value, node.inputs[index]))
        elif kind == "ins":
            values.append(
                [joined(v, edge) for v, edge in zip(value, node.inputs[index:], strict=True)]
            )
        elif kind == "out":
            values.append(joined(value, node if node.op.outputs == 1 else OutputSlot(node, index)))
        elif kind == "outs":
            values.append(tuple(joined(v, OutputSlot(node, k)) for k, v in enumerate(value)))
        else:
            values.append(opened(value))
    if node.ext is not None and "tangents" in node.ext:
        _join_tangents(node, values)
    return values


def _join_tangents(node: Node, values: list[Any]) -> None:
    """Restore the forward-mode tangents that saved values had when they were saved
    (`core.transforms.forward_mode` noted them).
    """
    assert node.ext is not None
    kept = node.ext["tangents"]
    for (kind, index), value in zip(node.plan.entries, values, strict=True):
        for k, t in enumerate(value if isinstance(value, (list, tuple)) else (value,)):
            tangents = kept.get((kind, index + k))
            if tangents and isinstance(t, Tensor) and not (t._x or {}).get("tangents"):
                t.extra()["tangents"] = dict(tangents)


def joined(value: Any, edge: Any) -> Any:
    """A saved array as a tensor with the given place in the graph."""
    packed = isinstance(value, Packed)
    if packed:
        value = value.array()
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(edge, Tensor):
        # A hook may have returned other values than the leaf's. Then a node of its own stands
        # between them.
        return edge if not packed or value is edge._array else TENSORS.unpacked(edge, value=value)
    result = make_tensor(value)
    if edge is not None and value.dtype.kind in "fcVW":
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
        if not isinstance(value, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(value).__name__}"
            )
        return value._array


def saved_arrays(node: Node) -> tuple[Any, ...]:
    """The values that a node saved, as arrays. Values that saved-tensor hooks packed are unpacked."""
    assert node.saved is not None
    if node.ext is None or "packed" not in node.ext:
        return node.saved
    return tuple([opened(v) for v in node.saved])


def opened(value: Any) -> Any:
    """A saved value with all values inside unpacked that went through saved-tensor hooks."""
    if type(value) in (list, tuple):
        # return the same object if nothing was packed: a tracer identifies it by identity
        values = list(map(opened, value))
        return (
            value
            if all(a is b for a, b in zip(value, values, strict=True))
            else type(value)(values)
        )
    return value.array() if isinstance(value, Packed) else value


def check_saved(node: Node) -> None:
    """Raise an error if the values that a node saved were freed or overwritten."""
    if node.saved is None:
        raise gone.freed(node)
    total = 0
    for version in node.versions:
        total += version.count
    if total != node.total:
        raise gone.overwritten(node)


def reads_later(result: Tensor, *tensors: Tensor) -> Tensor:
    """Note that the gradient of `result` reads tensors that are not arguments of its operation,
    such as labels or positions; returns `result`.

    Backward then refuses to run if they were written to. It must, because kernels do not check
    these values again.
    """
    node = result._node
    if node is not None:
        node = node.node if type(node) is OutputSlot else node
        guard = node.guard
        for t in tensors:
            version = t._ver or version_of(t)
            guard = (*guard, version) if type(guard) is tuple else (guard, version)
            node.total += version.count
        node.guard = guard
    return result
