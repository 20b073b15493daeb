"""A module's forward as a graph of operators: what `torch.export.export` records.

The forward runs on copies of the example's tensors while a mode writes down each operator before
anything takes it apart.
"""

from __future__ import annotations

import contextlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import dtypes
from .._pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ..aten.overload import OpOverload, ops
from ..core import source
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..errors import UnsupportedError, UserError
from ..func import functional_call
from ..fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    by_overload,
)
from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ..fx.graph import Graph
from ..fx.node import Node
from ..nn.modules._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..ops.shape._sizes import element_strides
from ..random import fork_rng
from .dynamic_shapes import names

aten: Any = ops.aten


class ItemInt(int):
    """A whole number read from a tensor while a graph is recorded: it is a node where it goes into
    an operator.
    """

    proxy: Any


class ItemFloat(float):
    """A real number read from a tensor while a graph is recorded."""

    proxy: Any


@dataclass
class Seen:
    """What a tensor of a graph looked like."""

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]
    requires_grad: bool


@dataclass
class Recording:
    """The graph of one run.

    Attributes:
        seen: what each node's tensors looked like, or the number that it is.
        constants: tensors that are neither inputs nor state, by the name of their node.
        targets: the names of constants by the names of their nodes.
        inputs: the nodes of the leaves of the arguments.
        results: the leaves of the result: nodes, and values of what is not a tensor.
        spec: the structure of the result.
    """

    graph: Graph
    seen: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Tensor] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    inputs: list[Node] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    spec: Any = None


class _Tracer(PythonKeyTracer):
    """Makes nodes; tensors that are neither inputs nor state become inputs as constants."""

    def __init__(self, mod: Any, recording: Recording) -> None:
        super().__init__()
        self.graph = recording.graph
        self.recording = recording
        # who asked for the recording: lines of the library's own modules end there
        self.caller = (source.capture() or (None,))[0]
        self.fixed: dict[int, Any] = {}
        self.lifted = 0
        self.named = {
            id(value): f"{path}.{name}" if path else name
            for path, module in mod.named_modules(remove_duplicate=False)
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any) -> Node:
        node = super().create_node(kind, target, args, kwargs, *rest)
        site = source.capture() if kind == "call_function" else None
        line = source.describe(site)
        if line is not None and site is not None and site[0] is not self.caller:
            where = f'File "{line.file}", line {line.line}, in {line.function.rpartition(".")[2]}'
            node.meta["stack_trace"] = f"{where}\n    {line.text}"
        return node

    def track(self, value: Any, proxy: Any) -> None:
        super().track(value, proxy)
        if proxy.node.op == "placeholder":
            proxy.node.meta.clear()
        array = value._array
        kind = dtypes.BY_NUMPY[array.dtype]
        steps = element_strides(array)
        self.recording.seen[proxy.node.name] = Seen(
            tuple(array.shape), kind, steps, bool(value._rg)
        )

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, (ItemInt, ItemFloat)):
            return a.proxy.node
        return super().create_arg(a)

    def attribute(self, value: Tensor) -> Any:
        """A constant: an input of its own, before those of the program."""
        known = self.fixed.get(id(value))
        if known is not None:
            return known
        target = self.named.get(id(value))
        if target is None:
            target = f"lifted_tensor_{self.lifted}"
            self.lifted += 1
        place: Any = contextlib.nullcontext()
        if self.recording.inputs:
            place = self.graph.inserting_before(self.recording.inputs[0])
        with place:
            proxy = self.create_proxy("placeholder", name_of("c", target), (), {})
        self.fixed[id(value)] = proxy
        name = proxy.node.name
        self.recording.constants[name], self.recording.targets[name] = value, target
        self.track(value, proxy)
        return proxy


class _Capture(ProxyTorchDispatchMode):
    """The mode that writes the graph."""

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        tracer: Any = self.tracer
        if func in (aten.item.default, aten._local_scalar_dense.default):
            return self._value(func, args[0])
        if func._schema.is_mutable:
            _refuse_constants(tracer, func, args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _value(self, func: OpOverload, t: Tensor) -> Any:
        """A number that leaves the tensors."""
        number = func(t)
        proxy = self.tracer.proxy_of(t)
        if proxy is None:
            return number
        if func is not aten.item.default or isinstance(number, (bool, complex)):
            line = source.describe(source.capture())
            error = GuardOnDataDependentSymNode(
                "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n\n"
                "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true."
            )
            error.add_note(
                f"the program decides by a value that depends on its inputs{f' in {line}' if line else ''}: only one of the two ways "
                "could be recorded. Write torch.where(condition, a, b)"
            )
            raise error
        made: Any = (ItemInt if isinstance(number, int) else ItemFloat)(number)
        made.proxy = self.tracer.create_proxy("call_function", func, (t,), {}, name="item")
        self.tracer.recording.seen[made.proxy.node.name] = number  # type: ignore[attr-defined]
        return made


def _refuse_constants(tracer: Any, func: OpOverload, args: Any, kwargs: dict[str, Any]) -> None:
    arguments = func._schema.arguments
    given = dict(zip([a.name for a in arguments], args, strict=False)) | kwargs
    for a in arguments:
        value = given.get(a.name)
        if a.is_write and isinstance(value, Tensor) and tracer.proxy_of(value) is None:
            word = tracer.named.get(id(value))
            raise UnsupportedError(
                f"export: {func._opname} writes to {f'the attribute {word!r}' if word else 'a tensor'}, which is neither an input nor a "
                "buffer of the module",
                hint="register it with register_buffer, or write to a clone",
            )


def name_of(kind: str, target: str) -> str:
    """The name of the node of a parameter (`p`), buffer (`b`) or constant (`c`)."""
    return f"{kind}_{re.sub(r'[^a-zA-Z0-9]', '_', target.removeprefix('self_'))}"


# ---- one run -----------------------------------------------------------------------------------
@dataclass
class State:
    """The parameters and buffers of a module by name, and which buffers are not persistent."""

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    transient: set[str]


def state_of(mod: Any) -> State:
    """The parameters and buffers of a module."""
    transient = {
        f"{path}.{name}" if path else name
        for path, module in mod.named_modules(remove_duplicate=False)
        for name in module._non_persistent_buffers_set
    }
    parameters = dict(mod.named_parameters(remove_duplicate=False))
    return State(parameters, dict(mod.named_buffers(remove_duplicate=False)), transient)


def input_names(mod: Any, args: Any, kwargs: dict[str, Any]) -> list[str]:
    """A name for each leaf of the arguments: that of the argument, and the way to the leaf in it."""
    found = []
    for word, value in zip([*names(mod, args), *kwargs], [*args, *kwargs.values()], strict=True):
        for path, _ in tree_flatten_with_path(value)[0]:
            inner = re.sub(r"[^a-zA-Z0-9]+", "_", keystr(path)).strip("_")
            found.append(f"{word}_{inner}" if inner else word)
    return found


def record(
    mod: Any,
    state: State,
    words: Sequence[str],
    leaves: Sequence[Any],
    spec: Any,
    table: dict[Any, Any] | None = None,
) -> Recording:
    """The graph of one run of a module's forward, on copies of its inputs and buffers.

    Args:
        table: None for operators before they are taken apart; else those that functions stand for.
    """
    recording = Recording(Graph())
    tracer = _Tracer(mod, recording)
    copies: dict[int, Tensor] = {}

    def known(target: str, tensor: Tensor, kind: str) -> Tensor:
        value = tensor
        if kind == "b":
            value = copies.setdefault(id(tensor), _copy(tensor))
        tracer.track(value, tracer.create_proxy("placeholder", name_of(kind, target), (), {}))
        return value

    for name, tensor in state.parameters.items():
        known(name, tensor, "p")
    buffers = {name: known(name, tensor, "b") for name, tensor in state.buffers.items()}
    inputs = []
    for word, leaf in zip(words, leaves, strict=True):
        proxy = tracer.create_proxy("placeholder", word, (), {})
        proxy.node.name = word  # `input` stays `input`
        recording.inputs.append(proxy.node)
        if isinstance(leaf, Tensor):
            leaf = _copy(leaf)  # of its own, so that an argument that is given twice is two
            tracer.track(leaf, proxy)
        inputs.append(leaf)
    args, kwargs = tree_unflatten(inputs, spec)
    mode = _Capture(tracer, "real", pre_dispatch=table is None)
    mode.decompositions = by_overload(table or {})
    with fork_rng(), no_grad(), _modules(mod, tracer), mode:
        made = functional_call(mod, buffers, args, kwargs) if buffers else mod(*args, **kwargs)
        results, recording.spec = tree_flatten(made)
        recording.results = [
            tracer.create_arg(r) if isinstance(r, (Tensor, ItemInt, ItemFloat)) else _plain(r)
            for r in results
        ]
    recording.graph.output(tuple(recording.results))
    return recording


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str, complex)):
        return value
    raise UserError(
        f"It looks like one of the outputs with type `{type(value)}` is not supported or pytree-flattenable. \n"
        "Exported graphs outputs can only contain the following supported types: tensors, numbers, strings and None"
    )


def _copy(t: Tensor) -> Tensor:
    """A copy with the layout of the original, which is not a parameter and has no history."""
    with no_grad():
        made: Tensor = t.detach().clone()
    return made


@contextlib.contextmanager
def _modules(mod: Any, tracer: Any) -> Iterator[None]:
    """Inside the block nodes know of the submodules that were being called."""
    paths = {id(m): path for path, m in mod.named_modules()}
    stack: OrderedDict[str, tuple[str, str]] = OrderedDict()
    tracer.module_stack = stack

    def enter(module: Any, args: Any) -> None:
        path = paths.get(id(module))
        if path is not None:
            kind = f"{type(module).__module__}.{type(module).__qualname__}"
            stack[f"L__self__{'_'.join(filter(None, path.split('.')))}"] = (path, kind)

    def leave(module: Any, args: Any, result: Any) -> None:
        if id(module) in paths and stack:
            stack.popitem()

    before = register_module_forward_pre_hook(enter)
    after = register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        before.remove()
        after.remove()
