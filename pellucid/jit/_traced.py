"""The graphs of a traced function or module: `graph`, where a module inside is one call, and
`inlined_graph`, where it is its operators.

The function runs once more, under a recording that also sees which module runs. What a module reads
of its parameters becomes `prim::GetAttr`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from .._pytree import tree_flatten
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..ops.create.random import get_rng_state, set_rng_state
from ._graph import (
    Graph,
    Node,
    TracingState,
    Type,
    Value,
    _Recording,
    _running,
    recurrent,
    returned_value,
)


class _Call:
    """One run of a module, or of the whole function: its operators and the calls inside."""

    def __init__(self, path: str, parent: _Call | None) -> None:
        self.path, self.parent = path, parent
        self.items: list[Node | _Call] = []
        self.own: Value | None = None  # the module
        self.attributes: dict[str, Value] = {}  # read of it: by dotted name
        self.reads: list[list[Node]] = []  # each from the module to what is read

    def scope(self) -> str:
        """The modules that it runs in, with slashes between."""
        paths, call = [], self
        while call.parent is not None:
            paths.append(f"__module.{call.path}")
            call = call.parent
        return "/".join(reversed(paths))


class _State(TracingState):
    """A recording that knows which module runs."""

    def __init__(self, module: Module | None) -> None:
        super().__init__()
        self.names = True
        self.root = self.call = _Call("", None)
        self.modules = {} if module is None else dict(module.named_modules())
        self.paths = {id(m): p for p, m in self.modules.items()}
        self.owned: dict[int, tuple[str, str, Any]] = {}
        for path, m in self.modules.items():
            for name, x in [*m._parameters.items(), *m._buffers.items()]:
                if x is not None:
                    self.owned.setdefault(id(x), (path, name, x))

    def _add(self, kind: str, inputs: list[Value], constant: Any = None) -> Node:
        node = super()._add(kind, inputs, constant)
        node._scope = self.call.scope()
        self.call.items.append(node)
        return node

    def value_of(self, x: Any) -> Value:
        known = self.owned.get(id(x)) if isinstance(x, Tensor) else None
        if known is None:
            return super().value_of(x)
        path, name, _ = known
        return self.read(self.call, f"{path}.{name}".lstrip("."), "Tensor")

    def read(self, call: _Call, path: str, kind: str) -> Value:
        """A module or tensor by its dotted name, as a module sees it."""
        if call.path and not path.startswith(f"{call.path}."):
            assert call.parent is not None
            return self.read(call.parent, path, kind)
        if path in call.attributes:
            return call.attributes[path]
        value = call.own
        assert value is not None
        names = path.removeprefix(call.path).strip(".").split(".")
        chain: list[Node] = []
        for count, name in enumerate(names, 1):
            within = ".".join([*filter(None, [call.path]), *names[:count]])
            node = Node("prim::GetAttr", "", [value], name)
            last = count == len(names)
            value = Value(node, 0, Type.named(kind if last else _class_name(self.modules[within])))
            value._name = f"_{name}" if name.isdigit() else name
            node._outputs.append(value)
            chain.append(node)
        call.reads.append(chain)
        call.attributes[path] = value
        return value

    def enter(self, module: Module, args: Any) -> None:
        path = self.paths.get(id(module))
        if path:
            inner = _Call(path, self.call)
            inner.own = self.read(self.call, path, _class_name(module))
            self.call.items.append(inner)
            self.call = inner

    def leave(self, module: Module, args: Any, result: Any) -> None:
        if self.paths.get(id(module)) and self.call.parent is not None:
            self.call = self.call.parent


def _class_name(module: Module) -> str:
    kind = getattr(module, "_original", type(module))
    home = kind.__module__.replace("pellucid.", "torch.", 1)
    return f"__torch__.{'' if home == '__main__' else home + '.'}{kind.__name__}"


def traced_graph(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inline: bool) -> Graph:
    """The graph of a run. The generator and the module's buffers are afterwards what they were.

    Args:
        func: a function or a module.
        args, kwargs: what it is called with.
        inline: a module inside is its operators, and not one call.
    """
    buffers = list(func.buffers()) if isinstance(func, Module) else []
    kept, drawn = [x.detach().clone() for x in buffers], get_rng_state()
    try:
        return _graph(func, args, kwargs, inline)
    finally:
        set_rng_state(drawn)
        with no_grad():
            for x, before in zip(buffers, kept, strict=True):
                x.copy_(before)


def _graph(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inline: bool) -> Graph:
    module = func if isinstance(func, Module) else None
    state = _State(module)
    hooks: list[Any] = []
    if module is not None:
        for path, m in state.modules.items():
            hooks += recurrent(state, m)  # which record before the module is left
            if path:
                hooks.append(m.register_forward_pre_hook(state.enter, prepend=True))
                hooks.append(m.register_forward_hook(state.leave))
        state.root.own = state.make(state.graph._params, Type.named(_class_name(module)))
        state.root.own._name = "self"
    run = func.forward if module is not None else func
    names = _names(run, args, kwargs)
    for x in tree_flatten((args, kwargs))[0]:
        if isinstance(x, Tensor) and id(x) not in state._values:
            state.make(state.graph._params, x)._name = names.get(id(x), "")
    _running.append(state)
    try:
        with _Recording(state):
            result = func(*args, **kwargs)
    finally:
        _running.pop()
        for hook in hooks:
            hook.remove()
    returned = Node("prim::Return", "", [returned_value(state, result)])
    if state.root.own is not None and any(isinstance(x, _Call) for x in state.root.items):
        state.root.own._name = "self.1"
    graph = state.graph
    graph._return = returned
    graph._nodes = [*_body(state.root, inline, 0, returned)]
    _number(graph)
    return graph


def _names(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, str]:
    """The names of a function's parameters, by the tensor that is given."""
    try:
        bound = inspect.signature(run).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    return {id(x): name for name, x in bound.items() if isinstance(x, Tensor)}


def _body(call: _Call, inline: bool, depth: int, after: Node) -> Iterable[Node]:
    """The nodes of a call in their order."""
    if depth == 1:
        yield from _pooled(call)
    for chain in reversed(call.reads):
        yield from chain
    for item in call.items:
        if isinstance(item, Node):
            yield item
        elif inline:
            yield from _body(item, inline, depth + 1, after)
        else:
            yield from _as_call(item)


def _pooled(call: _Call) -> list[Node]:
    """The constants of a call, each once, and of the calls inside; they stand before what reads
    them.
    """
    first: dict[Any, Node] = {}
    for item in list(call.items):
        if not isinstance(item, Node) or item.kind() != "prim::Constant":
            continue
        if isinstance(item._constant, Tensor):
            continue
        kept = first.setdefault((type(item._constant), item._constant), item)
        call.items.remove(item)
        if kept is not item:
            for user in item.output()._users:
                user._inputs = [
                    kept.output() if value is item.output() else value for value in user._inputs
                ]
                kept.output()._users.append(user)
    inner = [node for item in call.items if isinstance(item, _Call) for node in _pooled(item)]
    return [*reversed(first.values()), *inner]


def _inside(call: _Call) -> Iterable[Node]:
    for item in call.items:
        yield from (item,) if isinstance(item, Node) else _inside(item)


def _as_call(call: _Call) -> list[Node]:
    """A module's run as one node: what it takes from outside, and what others take of it; several
    results are a tuple that is taken apart.
    """
    nodes = list(_inside(call))
    made = {id(value) for node in nodes for value in node._outputs}
    taken: dict[int, Value] = {}
    given: dict[int, Value] = {}
    inner = set(map(id, nodes))
    for node in nodes:
        for value in node._inputs:
            if id(value) not in made and value.node().kind() != "prim::GetAttr":
                taken.setdefault(id(value), value)
        for value in node._outputs:
            if any(id(user) not in inner for user in value._users):
                given.setdefault(id(value), value)
    assert call.own is not None
    node = Node("prim::CallMethod", "", [call.own, *taken.values()], "forward")
    made_by = [node]
    if len(given) > 1:
        whole = Value(node, 0, Type.named(f"({', '.join(['Tensor'] * len(given))})"))
        node._outputs.append(whole)
        made_by.append(node := Node("prim::TupleUnpack", "", [whole]))
    for value in given.values():
        value._node, value._type, value._name = node, Type.named("Tensor"), ""
        node._outputs.append(value)
    return made_by


def _number(graph: Graph) -> None:
    """Give values the numbers of their places; of several with one name the last one keeps it."""
    values = [*graph.inputs()]
    for node in graph._nodes:
        values += node._outputs
    named: dict[str, list[Value]] = {}
    for number, value in enumerate(values):
        value._number = number
        if value._name:
            named.setdefault(value._name, []).append(value)
    for name, holders in named.items():
        for count, value in enumerate(holders[:-1]):
            value._name = f"{name}.{2 * count + 1}"
