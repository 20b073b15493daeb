"""Graphs of the operators that a function runs, gradients included
(`torch.fx.experimental.proxy_tensor`).

>>> import pellucid as torch
>>> from pellucid.fx.experimental.proxy_tensor import make_fx
>>> graph = make_fx(lambda x, w: torch.nn.functional.linear(x, w).relu())(torch.ones(2, 3), torch.ones(4, 3))
>>> [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
['aten.t.default', 'aten.mm.default', 'aten.relu.default']
"""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Callable
from typing import Any

from ..._pytree import tree_flatten, tree_unflatten
from ...aten import dispatch, whole
from ...aten.fake import FakeTensor, FakeTensorMode
from ...aten.modes import TorchDispatchMode
from ...aten.overload import OpOverload, OpOverloadPacket, Tag, ops
from ...core.tensor import Parameter, Tensor
from ...nn import Module
from ...ops.return_types import TYPES
from .._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..graph import Graph
from ..graph_module import GraphModule
from ..proxy import GraphAppendingTracer, Proxy

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "decompose",
    "dispatch_trace",
    "get_innermost_proxy_mode",
    "get_proxy_mode",
    "make_fx",
]

aten: Any = ops.aten
assert whole  # which tells `composite` of its functions
CURRENT_DECOMPOSITION_TABLE: dict[Any, Callable[..., Any]] = {}


class PythonKeyTracer(GraphAppendingTracer):
    """Makes nodes of operators on tensors. Tensors that no node made become attributes of the
    module.
    """

    def __init__(self) -> None:
        super().__init__(Graph())
        self.root = Module()
        # by id of a tensor: a reference to it, and the proxy of what made it
        self.known: dict[int, tuple[Any, Proxy]] = {}
        self._constants: dict[int, str] = {}

    def track(self, value: Any, proxy: Proxy) -> None:
        """A tensor is what a node made."""
        key = id(value)
        self.known[key] = (weakref.ref(value, lambda _: self.known.pop(key, None)), proxy)
        proxy.node.meta["val"] = value if isinstance(value, FakeTensor) else None
        proxy.node.meta["tensor_meta"] = (tuple(value._array.shape), value.dtype)

    def proxy_of(self, value: Any) -> Proxy | None:
        """The proxy of what made a tensor."""
        found = self.known.get(id(value))
        return None if found is None or found[0]() is not value else found[1]

    def create_arg(self, a: Any) -> Any:
        """Tensors become the nodes that made them; others, attributes of the module."""
        if isinstance(a, Tensor):
            proxy = self.proxy_of(a)
            return self.attribute(a).node if proxy is None else proxy.node
        return super().create_arg(a)

    def attribute(self, value: Tensor) -> Proxy:
        """A node that reads a tensor from the module."""
        name = self._constants.get(id(value))
        if name is None:
            for known, parameter in self.root.named_parameters():
                if parameter is value:
                    name = known
            if name is None:
                name = f"{'_param' if isinstance(value, Parameter) else '_tensor'}_constant{self._count(value)}"
                setattr(self.root, name, value)
            self._constants[id(value)] = name
        return self.create_proxy("get_attr", name, (), {})

    def _count(self, value: Tensor) -> int:
        start = "_param" if isinstance(value, Parameter) else "_tensor"
        return sum(name.startswith(start) for name in self._constants.values())


class ProxyTorchDispatchMode(TorchDispatchMode):
    """The mode that appends each operator to a graph."""

    def __init__(
        self, tracer: PythonKeyTracer, tracing_mode: str = "real", pre_dispatch: bool = False
    ) -> None:
        super().__init__()
        self.tracer, self.tracing_mode = tracer, tracing_mode
        self.pre_dispatch = pre_dispatch
        self.decompositions: dict[Any, Callable[..., Any]] = {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It is one of the library's own."""
        return True

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        instead = self.decompositions.get(func)
        if instead is not None:
            with self:
                made = instead(*args, **kwargs)
            if made is not NotImplemented:
                return made
        tracer = self.tracer
        tensors = [t for t in dispatch.leaves(args, kwargs) if isinstance(t, Tensor)]
        if Tag.data_dependent_output in func.tags and any(
            tracer.proxy_of(t) is not None for t in tensors
        ):
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's likely that this is "
                "caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try setting "
                "tracing_mode='symbolic' in your make_fx call."
            )
        if not tensors and not any(
            isinstance(r.type.base, str) and r.type.base == "Tensor" for r in func._schema.returns
        ):
            return func(*args, **kwargs)
        target = aten.lift_fresh_copy.default if func is aten.lift_fresh.default else func
        name = target.overloadpacket.__name__ if not func._opname.startswith("__") else None
        proxy = tracer.create_proxy(
            "call_function",
            target,
            tuple(args),
            kwargs,
            name=tracer.graph._target_to_str(name or "op"),
        )
        made = func(*args, **kwargs)
        if func is aten.lift_fresh.default and made is tensors[0]:
            made = aten.alias.default(made)
        self._track(made, proxy)
        return made

    def _track(self, made: Any, proxy: Proxy) -> None:
        if isinstance(made, Tensor):
            self.tracer.track(made, proxy)
        elif isinstance(made, (tuple, list)):
            for k, part in enumerate(made):
                if isinstance(part, Tensor):
                    self._track(
                        part,
                        self.tracer.create_proxy("call_function", operator.getitem, (proxy, k), {}),
                    )


def get_innermost_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The innermost mode that makes a graph, or None."""
    return next(
        (m for m in reversed(dispatch.thread.modes) if isinstance(m, ProxyTorchDispatchMode)), None
    )


get_proxy_mode = get_innermost_proxy_mode


class _Decomposing(TorchDispatchMode):
    """Operators by the functions that stand for them."""

    def __init__(self, table: dict[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.table = table

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        instead = self.table.get(func)
        if instead is None:
            return func(*args, **(kwargs or {}))
        with self:
            made = instead(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {})) if made is NotImplemented else made


def decompose(decomposition_table: dict[Any, Callable[..., Any]] | None) -> TorchDispatchMode:
    """A block in which operators run by the functions that stand for them."""
    return _Decomposing(by_overload(decomposition_table or {}))


def by_overload(table: dict[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """A table of functions by operator, with an entry for each overload."""
    made: dict[Any, Callable[..., Any]] = {}
    for op, function in table.items():
        for overload in (
            [getattr(op, name) for name in op.overloads()]
            if isinstance(op, OpOverloadPacket)
            else [op]
        ):
            made[overload] = function
    return made


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
) -> Callable[..., GraphModule]:
    """A function that runs `f` on its arguments and returns the graph of the operators that ran.

    Args:
        f: a function of tensors, numbers and containers of them; it may compute gradients.
        decomposition_table: {operator: a function that stands for it}; what it calls is in the
            graph.
        tracing_mode: "real" runs on the arguments, "fake" on fake tensors of their shapes.
        pre_dispatch: record operators before they are taken apart: `aten.linear` rather than
            `aten.t` and `aten.addmm`.

    Raises:
        NotImplementedError: `tracing_mode="symbolic"`: shapes are numbers here.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(
            f'expected tracing_mode in ["real", "fake", "symbolic"], got {tracing_mode}'
        )
    if tracing_mode == "symbolic":
        raise NotImplementedError(
            "make_fx(tracing_mode='symbolic') is not supported: shapes are numbers; use 'fake' or 'real'"
        )

    def wrapped(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        if isinstance(f, Module):
            tracer.root = f
        leaves, spec = tree_flatten(list(args))
        fake = None
        if tracing_mode == "fake":
            fake = next(
                (t.fake_mode for t in leaves if isinstance(t, FakeTensor)), None
            ) or FakeTensorMode(allow_non_fake_inputs=True)
        names = _names(f, len(args))
        flat = all(not isinstance(a, (list, tuple, dict)) for a in args)
        inputs = []
        for k, leaf in enumerate(leaves):
            name = f"{names[k]}_1" if flat else _leaf_name(names, args, k)
            proxy = tracer.create_proxy("placeholder", name, (), {})
            value = (
                fake.from_tensor(leaf) if fake is not None and isinstance(leaf, Tensor) else leaf
            )
            if isinstance(value, Tensor):
                tracer.track(value, proxy)
            inputs.append(value)
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, pre_dispatch)
        mode.decompositions = by_overload(decomposition_table or {})
        given = tree_unflatten(inputs, spec)
        if fake is not None:
            with fake, mode:
                made = f(*given)
        else:
            with mode:
                made = f(*given)
        return _module(tracer, f, made, flat, names, spec, len(leaves))

    return wrapped


def _module(
    tracer: PythonKeyTracer, f: Any, made: Any, flat: bool, names: list[str], spec: Any, count: int
) -> GraphModule:
    """The traced graph, as a module."""
    results, out_spec = tree_flatten(made)
    nodes = [tracer.create_arg(r) for r in results]
    if flat and not isinstance(made, dict):
        tracer.graph.output(_plain(tree_unflatten(nodes, out_spec)))
    else:
        tracer.graph.output(nodes)
        tracer.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, spec, out_spec)))
    return GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", type(f).__name__))


def _plain(value: Any) -> Any:
    """Results with the named ones of functions (`torch.return_types`) as tuples."""
    if isinstance(value, (list, tuple)):
        made = [_plain(v) for v in value]
        if isinstance(value, list):
            return made
        return (
            tuple(made)
            if type(value) is tuple or type(value) in TYPES.values()
            else type(value)(*made)
        )
    return value


def dispatch_trace(
    root: Callable[..., Any], tracer: Any, concrete_args: tuple[Any, ...] = ()
) -> GraphModule:
    """The graph of a function on arguments, as `make_fx` makes it."""
    return make_fx(root)(*concrete_args)


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """What the parameters of a function are called."""
    try:
        signature = inspect.signature(f.forward if isinstance(f, Module) else f)
        code = [*signature.parameters.values()]
    except (TypeError, ValueError):
        code = []
    found: list[str] = []
    for p in code:
        if p.kind is p.VAR_POSITIONAL:
            found += [f"{p.name}_{k + 1}" for k in range(count - len(found))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            found.append(p.name)
    return (found + [f"arg{k}" for k in range(count)])[: max(count, 0)]


def _leaf_name(names: list[str], args: tuple[Any, ...], place: int) -> str:
    """The name of a leaf: that of the argument it is in, and its number there."""
    for name, arg in zip(names, args, strict=False):
        inside = len(tree_flatten(arg)[0])
        if place < inside:
            return f"{name}_{place + 1}"
        place -= inside
    return f"arg_{place}"
