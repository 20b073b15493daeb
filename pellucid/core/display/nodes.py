"""PyTorch's view of the graph: the names of nodes, the edges they show, and the values they saved
(`_saved_self`).

The engine itself does not need it. In the engine, a node has one edge per argument. PyTorch's nodes
have one edge per argument with a gradient rule, and their names tell which overload ran. Both
follow from the record and are computed on demand.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ... import dtypes
from ...errors import GraphError
from ..bind import wrap
from ..modes import local, no_grad
from ..reverse import BackwardPass, accumulate
from ..tape import (
    Node,
    Packed,
    RemovableHandle,
    check_saved,
    named_type,
    register,
    value_at,
)
from ..tensor import OutputSlot, Tensor, collects, node_of, version_of
from ..transforms.arranging import arrange
from ..transforms.unfolding import in_front, is_front
from . import kept
from .words import face


# ---- names and edges ---------------------------------------------------------------------------
def fully_named(node: Any) -> Any:
    """The node with its final type, if PyTorch's name depends on the arguments. The name is
    computed only when it is looked at.
    """
    if (
        isinstance(node, Node)
        and node.op.variant is not None
        and type(node).__name__ == node.op.grad_name != face(node)[0]
    ):
        node.__class__ = named_type(face(node)[0])
    return node


def _name(self: Node) -> str:
    """The node's type name, such as 'MulBackward0'; PyTorch gives its own nodes a namespace."""
    name = type(fully_named(self)).__name__
    return f"torch::autograd::{name}" if name in _IN_A_NAMESPACE else name


_IN_A_NAMESPACE = ("CopyBackwards", "CopySlices", "NotImplemented")


def _seen(self: Node, edge: Any) -> tuple[Any, Node]:
    """The edge to one of the results as it is displayed, and its node."""
    if type(edge) is OutputSlot:
        edge = in_front(edge)
    node = node_of(edge)
    return edge, fully_named(node)


def _places(self: Node) -> tuple[int, ...]:
    """The positions of the inputs that the node shows."""
    return face(self)[1]


def _shown(self: Node, g: Any) -> tuple[list[Any], list[int]]:
    """The results' gradients, and the indices of those that hooks receive: integer results have
    none.
    """
    if not isinstance(g, tuple):
        return [g], [0]
    return list(g), [k for k, dtype in enumerate(self.dtype) if dtype.kind not in "biu"]


def _next_functions(self: Node) -> tuple[tuple[Any, int], ...]:
    """The nodes that made the inputs, with the index of the result used; (None, 0) for a constant."""
    arrange(self)
    if is_front(self):  # `arrange` could not replace it, because the saved values are gone
        self = self.inputs[0].node
    edges = self.inputs
    return tuple([_as_function(edges[k] if k < len(edges) else None) for k in _places(self)])


def _metadata(self: Node) -> dict[str, Any]:
    """A dictionary for the user's own notes."""
    return self.extra().setdefault("metadata", {})


def _sequence_nr(self: Node) -> int:
    return int(self.seq)


def _register_hook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after this node ran; it may return new grad_inputs."""
    arrange(self)
    return register(self.extra().setdefault("post_hooks", OrderedDict()), hook)


def _register_prehook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_outputs)` before this node runs; it may return new grad_outputs."""
    return register(self.extra().setdefault("pre_hooks", OrderedDict()), hook)


def _call(self: Node, *grads: Any) -> Any:
    """Run the node's gradient rules without hooks: the gradients of its inputs, given those of its
    results. Returns a tuple if there are several.
    """
    several = isinstance(self.shape, list)
    wanted = len(self.shape) if several else 1
    if len(grads) != wanted:
        raise TypeError(f"expected {wanted} arguments, got {len(grads)} instead")
    for k, g in enumerate(grads):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"argument {k} is not a Variable")
    arrange(self)
    check_saved(self)
    run = BackwardPass(local.grad, True, None, grads)
    run.tensors = True
    gs: Any = run.materialize(self, list(grads)) if several else grads[0]
    if gs is None and not self.op.keep_none_grads:
        gs = [None] * len(self.inputs)
    else:
        gs = run.rules(self, gs)
    edges = self.inputs
    made = [
        None if gs[k] is None or edges[k] is None else run.fitted(gs[k], *value_at(edges[k]))
        for k in _places(self)
        if k < len(edges)
    ]
    return made[0] if len(made) == 1 else tuple(made)


def _reduce(self: Node, protocol: Any = None) -> Any:
    raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class _InputMetadata:
    """Shape, dtype and device of a gradient that a node takes (`grad_fn._input_metadata`)."""

    __slots__ = ("device", "dtype", "shape")
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: Any, kind: Any) -> None:
        self.shape, self.dtype = dtypes.size_of(shape), dtypes.from_numpy(kind)
        self.device = dtypes.device("cpu")


def _input_metadata(self: Node) -> tuple[_InputMetadata, ...]:
    """Shape, dtype and device of the results' gradients."""
    if isinstance(self.shape, list):
        return tuple(map(_InputMetadata, self.shape, self.dtype))
    return (_InputMetadata(self.shape, self.dtype),)


def _repr(self: Node) -> str:
    home = "torch.autograd.function." if "ctx" in self.params else ""
    return f"<{home}{type(fully_named(self)).__name__} object at {hex(id(self))}>"


# ---- Functions -----------------------------------------------------------------------------------
# attributes that a ctx forwards to its node
OF_NODES = {"next_functions", "metadata", "register_hook", "register_prehook", "_input_metadata"}


class FunctionNode(Node):
    """The node of a custom Function. It shares its `__dict__` with the ctx."""


@functools.cache
def function_node(name: str) -> type:
    """The type for the nodes of a Function, by name."""
    return type(name, (FunctionNode,), {"__module__": "torch.autograd.function"})


class CtxOf:
    """A node's ctx: the one that forward had, as long as somebody holds it, then another with the
    same attributes. A ctx owns its node, so the node must not own the ctx.
    """

    __slots__ = ("ctx", "kind", "node")

    def __init__(self, node: Node, ctx: Any) -> None:
        self.kind, self.node, self.ctx = type(ctx), weakref.ref(node), weakref.ref(ctx)

    def __call__(self) -> Any:
        ctx = self.ctx()
        if ctx is None:
            node: Any = self.node()
            ctx = object.__new__(self.kind)
            ctx.__dict__, ctx._node = node.__dict__, node
            self.ctx = weakref.ref(ctx)
        return ctx


class AccumulateGrad:
    """The end of the graph at a leaf: adds what arrives to `variable.grad`."""

    __slots__ = ("__weakref__", "variable")

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """Nothing: the graph ends here."""
        return ()

    def name(self) -> str:
        """The name that PyTorch gives it."""
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user's own notes."""
        return self.variable.extra().setdefault("metadata", {})

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the gradient was accumulated."""
        return register(self.variable.extra().setdefault("acc_post_hooks", OrderedDict()), hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the gradient is accumulated."""
        return register(self.variable.extra().setdefault("acc_pre_hooks", OrderedDict()), hook)

    def __call__(self, grad: Tensor) -> None:
        """Add a gradient to the leaf's, as backward does."""
        with no_grad():
            accumulate(self.variable, grad._array, False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash(("AccumulateGrad", id(self.variable)))

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self.variable))}>"


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The leaf's AccumulateGrad. It is the same object as long as someone holds it."""
    extra = leaf.extra()
    known = extra.get("accumulator")
    found = known() if known is not None else None
    if found is None:
        found = AccumulateGrad(leaf)
        extra["accumulator"] = weakref.ref(found)
    return found


def _as_function(edge: Any) -> tuple[Any, int]:
    while isinstance(edge, Node) and edge.ext is not None and "promotes" in edge.ext:
        edge = edge.inputs[0]
    if edge is None:
        return (None, 0)
    if isinstance(edge, Node):
        return (fully_named(edge), 0)
    if type(edge) is OutputSlot:
        edge, node = edge.node.seen(edge)
        return (node, edge.index if type(edge) is OutputSlot else 0)
    return (accumulator(edge) if collects(edge) else None, 0)


# ---- what a node kept --------------------------------------------------------------------------
_SAVED, _RAW = "_saved_", "_raw_saved_"


def _getattr(self: Node, name: str) -> Any:
    """Saved values by PyTorch's names (`_saved_self`, `_saved_dim`, `_raw_saved_self`). For a
    Function's node, the attributes of its ctx.
    """
    ctx = self.params.get("ctx")
    if ctx is not None and not name.startswith("__"):
        return _of_function(self, ctx(), name)
    if name.startswith((_SAVED, _RAW)):
        arrange(self)
        raw = name.startswith(_RAW)
        found = kept.words(self).get(name.removeprefix(_RAW if raw else _SAVED))
        if found is not None and not raw:
            return found.value()
        if found is not None and found.tensor:
            return _saved_tensor(self, found)
    raise AttributeError(f"'{_name(self)}' object has no attribute {name!r}")


def _of_function(node: Node, ctx: Any, name: str) -> Any:
    """An attribute of a Function's node, which in PyTorch is the same object as the ctx."""
    if name in ("_raw_saved_tensors", "_saved_tensors"):
        if name == "_saved_tensors":
            return ctx.saved_tensors
        check_saved(node)
        return tuple(
            [_saved_tensor(node, None, k) for k in range(len(node.saved[0]) if node.saved else 0)]
        )
    return getattr(ctx, name)


def _dir(self: Node) -> list[str]:
    arrange(self)
    found = kept.words(self)
    shown = [_SAVED + w for w in found] + [_RAW + w for w, how in found.items() if how.tensor]
    return sorted({*object.__dir__(self), *shown})


class SavedTensor:
    """One tensor that a node keeps for backward (`grad_fn._raw_saved_self`); only the library makes
    them.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), torch.tensor)
    >>> y.grad_fn._saved_self.detach()
    tensor([1., 1.])
    """

    __slots__ = ("_how", "_item", "_node")

    _node: Node
    _how: kept.Kept | None  # None for a Function
    _item: int | None  # for a Function: the index among its saved tensors

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def _kept(self) -> Any:
        check_saved(self._node)
        assert self._node.saved is not None
        if self._how is None:
            item = self._node.saved[0][self._item]
            return item and item.value
        return None if self._how.position < 0 else self._node.saved[self._how.position]

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The hook that restores the tensor; None without hooks."""
        value = self._kept()
        return value.unpack_hook if type(value) is Packed else None

    @property
    def data(self) -> Any:
        """The saved tensor, or what the pack hook returned for it."""
        value = self._kept()
        return value.packed if type(value) is Packed else self.unpack()

    def unpack(self) -> Any:
        """The tensor with its place in the graph. The unpack hook is called if there is one."""
        if self._how is None:
            return self._node.params["ctx"]().saved_tensors[self._item]
        return self._how.value()

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Call `pack_hook` with the tensor now and keep its result. `unpack_hook` restores the
        tensor from that when it is needed.

        Raises:
            RuntimeError: when it was freed, has hooks already, or the hook writes into its
                argument.
        """
        node = self._node
        if node.saved is None:
            raise GraphError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph "
                "are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
                "through the graph a second time or if you need to access saved variables after calling backward."
            )
        held = self._kept()
        if type(held) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
                "allowed at a time."
            )
        if held is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        value = self.unpack() if self._how is None else wrap(held)
        with no_grad():
            value = value.detach()
            before = version_of(value).count
            packed = Packed(pack_hook(value), unpack_hook)
        if version_of(value).count != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be "
                "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                "need to perform in-place operations on the input to a pack hook."
            )
        if self._how is None:
            node.saved[0][self._item].value = packed
        else:
            at = self._how.position
            node.saved = (*node.saved[:at], packed, *node.saved[at + 1 :])
        node.extra()["packed"] = True


def _saved_tensor(node: Node, how: kept.Kept | None, item: int | None = None) -> SavedTensor:
    made = object.__new__(SavedTensor)
    made._node, made._how, made._item = node, how, item
    return made


def _attach(members: Iterable[tuple[str, Any]]) -> None:
    for name, member in members:
        setattr(Node, name, member)


_attach(
    {
        "name": _name,
        "places": _places,
        "seen": _seen,
        "shown": _shown,
        "next_functions": property(_next_functions),
        "metadata": property(_metadata),
        "_sequence_nr": _sequence_nr,
        "register_hook": _register_hook,
        "register_prehook": _register_prehook,
        "_input_metadata": property(_input_metadata),
        "__call__": _call,
        "__reduce_ex__": _reduce,
        "__getattr__": _getattr,
        "__dir__": _dir,
        "__repr__": _repr,
    }.items()
)
AccumulateGrad.__module__ = "builtins"
