"""Custom backends: `torch.compile(f, backend=function)`.

The function runs on tensors without data while a mode records what it calls, as a
`torch.fx.GraphModule` of PyTorch's functions. The backend gets the graph and its input tensors, and
returns a function that computes it. The recording happens at every call, so no guards are needed: a
graph that occurred before is run by the function that the backend returned then.

A function that reads the value of a tensor to decide something has no single graph. It runs
eagerly, and a CompileWarning says so.
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable
from typing import Any

from .._pytree import tree_flatten, tree_unflatten
from ..api import overriding
from ..api.overriding import DisableTorchFunction
from ..aten.fake import FakeTensor, FakeTensorMode
from ..core import modes, tracing
from ..core.interpret import thread
from ..core.public import METHODS
from ..core.tensor import Parameter, Tensor
from ..errors import UnsupportedError
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn import Module
from ..overrides import TorchFunctionMode
from ..random import fork_rng
from .function import CompileError, warn_user

_SWAPPED = {
    "__radd__": "add",
    "__rsub__": "sub",
    "__rmul__": "mul",
    "__rtruediv__": "truediv",
    "__rdiv__": "truediv",
}
_SWAPPED |= {"__rpow__": "pow", "__rmatmul__": "matmul", "__rfloordiv__": "floordiv"}


class Captured:
    """A function whose graphs a custom backend computes."""

    def __init__(
        self, fn: Callable[..., Any], backend: Callable[..., Any], fullgraph: bool, **options: Any
    ) -> None:
        self.fn, self.backend, self.fullgraph, self.options = fn, backend, fullgraph, options
        self.made: dict[Any, Callable[..., Any]] = {}
        self.broken = False
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.__doc__ = getattr(fn, "__doc__", None)
        self.__wrapped__ = self._torchdynamo_orig_callable = fn

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return Captured(self.fn.__get__(instance, owner), self.backend, self.fullgraph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results, computed by the backend's function for its graph."""
        if self.broken or tracing.tracer() is not None:
            return self.fn(*args, **kwargs)
        recorded = _Recording(self.fn)
        try:
            made = recorded.run(args, kwargs)
        except Exception as error:
            return self._as_it_is(error, args, kwargs)
        leaves, spec = made
        if not recorded.calls:
            return self.fn(*args, **kwargs)
        key = recorded.key()
        run = self.made.get(key)
        if run is None:
            gm = GraphModule(Module(), recorded.graph, "GraphModule")
            run = self.made[key] = self.backend(gm, list(recorded.inputs), **self.options)
            if not callable(run):
                raise TypeError(f"a backend returns a function, not {type(run).__name__}")
        results = run(*recorded.inputs)
        given = iter(results if isinstance(results, (tuple, list)) else (results,))
        filled = [
            next(given)
            if isinstance(x, Node)
            else recorded.inputs[x.place]
            if type(x) is _Given
            else x
            for x in leaves
        ]
        return tree_unflatten(filled, spec)

    def _as_it_is(self, error: Exception, args: Any, kwargs: Any) -> Any:
        """Run the function without a graph, after an error during recording."""
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        if self.fullgraph:
            raise CompileError(
                f"{self.__name__} cannot be recorded as one graph for the backend: {reason}"
            ) from error
        result = self.fn(*args, **kwargs)  # raises if the error is in the function itself
        self.broken = True
        warn_user(
            f"{self.__name__} runs without its backend, because it has no single graph: {reason}"
        )
        return result


class _Given:
    """An input that is also a result."""

    def __init__(self, place: int) -> None:
        self.place = place


class _Recording(TorchFunctionMode):
    """Records the graph of one call."""

    _as_written = True

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.graph = Graph()
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.inputs: list[Any] = []
        self.nodes: dict[int, Any] = {}
        self.alive: list[Any] = []
        self.first: Node | None = None
        self.names = _names(fn)
        self.grad = self.before = modes.local.grad
        self.calls = 0

    def run(self, args: Any, kwargs: Any) -> tuple[list[Any], Any]:
        """Record a call. Returns the leaves of its result, with nodes in place of tensors, and
        their structure.
        """
        leaves, spec = tree_flatten((args, kwargs))
        self.names.update(_argument_names(self.fn, args, kwargs))
        owner = getattr(self.fn, "__self__", None)
        self.owner = owner if isinstance(owner, Module) else None
        stand_ins = [self._input(x) if isinstance(x, Tensor) else x for x in leaves]
        args, kwargs = tree_unflatten(stand_ins, spec)
        with fork_rng(), self.fake, self:
            made = self.fn(*args, **kwargs)
        self._set_grad(self.before)
        results, out_spec = tree_flatten(made)
        found = [self._result(r) for r in results]
        self.graph.output(tuple([x for x in found if isinstance(x, Node)]))
        return found, out_spec

    def key(self) -> Any:
        """A key that identifies the graph: its code and its inputs."""
        inputs = [(tuple(x.shape), x.stride(), x.dtype, x.requires_grad) for x in self.inputs]
        constants = [
            (n.name, str(n.target), repr(n.args), repr(n.kwargs)) for n in self.graph.nodes
        ]
        return repr((constants, inputs, modes.local.grad))

    # -- tensors -----------------------------------------------------------------------------------
    def _input(self, t: Any) -> Any:
        """The tensor without data that represents an input; it gets a node."""
        known = self.nodes.get(id(t))
        if known is not None:
            return known[1]
        if isinstance(t, FakeTensor):
            raise UnsupportedError("a tensor that is made while the graph is recorded is unknown")
        name = re.sub(r"\W+", "_", self.names.get(id(t), f"l_tensor_{len(self.inputs)}_"))
        place: Any = contextlib.nullcontext()
        if self.first is not None:
            place = self.graph.inserting_before(self.first)
        with place:
            node = self.graph.placeholder(name[0].upper() + name[1:])
        node.name = name
        kind = Parameter if isinstance(t, Parameter) else Tensor
        node.type = kind
        with DisableTorchFunction():
            stand_in = self.fake.from_tensor(t)
        stand_in._rg = False  # recording needs no gradients
        node.meta["example_value"] = stand_in
        self.inputs.append(t)
        self.nodes[id(t)] = self.nodes[id(stand_in)] = (node, stand_in)
        self.alive += [t, stand_in]
        return stand_in

    def _result(self, r: Any) -> Any:
        if not isinstance(r, Tensor):
            return r
        known = self.nodes.get(id(r))
        if known is None:
            self._input(r)
            known = self.nodes[id(r)]
        node = known[0]
        if node.op != "placeholder":
            return node
        inputs = [n for n in self.graph.nodes if n.op == "placeholder"]
        return _Given(inputs.index(node))

    def _node(self, value: Any) -> Any:
        """An argument in the form in which a graph stores it."""
        if isinstance(value, Tensor):
            if id(value) not in self.nodes:
                self._input(value)
            return self.nodes[id(value)][0]
        if isinstance(value, (tuple, list)):
            made = [self._node(v) for v in value]
            return type(value)(made) if type(value) in (tuple, list) else tuple(made)
        if isinstance(value, dict):
            return {k: self._node(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(self._node(value.start), self._node(value.stop), self._node(value.step))
        return value

    # -- calls -------------------------------------------------------------------------------------
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = overriding.public_name(func)
        method = METHODS.get(name) is getattr(func, "__wrapped_method__", func) or name in METHODS
        if name in ("backward", "register_hook"):
            raise UnsupportedError(f"{name}() inside of the function is not part of a graph")
        leaves, spec = tree_flatten((args, kwargs))
        if any(isinstance(x, Tensor) and not isinstance(x, FakeTensor) for x in leaves):
            stand_ins = [
                self._input(x) if isinstance(x, Tensor) and id(x) not in self.nodes else x
                for x in leaves
            ]
            known = [self.nodes[id(x)][1] if isinstance(x, Tensor) else x for x in stand_ins]
            args, kwargs = tree_unflatten(known, spec)
        if thread.stack.autocast is not None:
            raise UnsupportedError("autocast inside of the function is not part of a graph")
        result = func(*args, **kwargs)
        if name == "__setitem__":
            self._call(operator.setitem, args, {}, name)
            return result
        if not any(isinstance(r, Tensor) for r in tree_flatten(result)[0]):
            return result
        if name in ("requires_grad_", "detach_") or getattr(func, "__name__", "") == "__set__":
            raise UnsupportedError(f"{name} inside of the function is not part of a graph")
        self._set_grad(modes.local.grad)
        if getattr(func, "__name__", "") == "__get__":
            node = self._call(getattr, (args[0], name), {}, "getattr")
        elif name in _SWAPPED:
            node = self._call(getattr(operator, _SWAPPED[name]), (args[1], args[0]), {}, name)
        elif name.startswith("__") and hasattr(operator, name):
            target = getattr(operator, name.strip("_"), None) or getattr(operator, name)
            node = self._call(target, args, kwargs, name)
        elif method and getattr(func, "__name__", name) in METHODS and _is_method(func):
            node = self._method(name, args, kwargs)
        else:
            node = self._call(func, args, kwargs, name)
        self._made(result, node)
        return result

    def _call(self, target: Any, args: Any, kwargs: Any, name: str) -> Node:
        self.calls += 1
        given = tuple([self._node(a) for a in args])
        made = self.graph.call_function(
            target, given, {k: self._node(v) for k, v in kwargs.items()}
        )
        self.first = self.first or made
        return made

    def _method(self, name: str, args: Any, kwargs: Any) -> Node:
        self.calls += 1
        given = tuple([self._node(a) for a in args])
        made = self.graph.call_method(name, given, {k: self._node(v) for k, v in kwargs.items()})
        self.first = self.first or made
        return made

    def _made(self, result: Any, node: Node) -> None:
        if isinstance(result, Tensor):
            self.nodes[id(result)] = (node, result)
            self.alive.append(result)
            node.meta["example_value"] = result
        elif isinstance(result, (tuple, list)):
            for k, part in enumerate(result):
                if any(isinstance(x, Tensor) for x in tree_flatten(part)[0]):
                    self._made(part, self.graph.call_function(operator.getitem, (node, k)))

    def _set_grad(self, enabled: bool) -> None:
        """Record a change of grad mode."""
        if enabled != self.grad:
            self.grad = enabled
            node = self.graph.call_function(set_grad_enabled, (enabled,))
            self.first = self.first or node


def set_grad_enabled(enabled: bool) -> None:
    """Set grad mode: `torch._C._set_grad_enabled`."""
    modes.local.grad = enabled


def _is_method(func: Any) -> bool:
    return getattr(func, "__module__", "") is None or "Tensor" in getattr(func, "__qualname__", "")


def _names(fn: Any) -> dict[int, str]:
    """Names for the tensors that a function can reach without arguments: those of its module, its
    closure and its globals.
    """
    found: dict[int, str] = {}
    inner = getattr(fn, "__func__", fn)
    code = getattr(inner, "__code__", None)
    for name in code.co_names if code is not None else ():
        value = getattr(inner, "__globals__", {}).get(name)
        if isinstance(value, Tensor):
            found[id(value)] = f"g_{name}_"
        elif isinstance(value, Module):
            found |= _of_module(value, f"g_{name}")
    for name, cell in zip(
        code.co_freevars if code is not None else (), getattr(inner, "__closure__", None) or ()
    ):
        value = None
        with contextlib.suppress(ValueError):  # an empty cell
            value = cell.cell_contents
        if isinstance(value, Tensor):
            found[id(value)] = f"l_{name}_"
        elif isinstance(value, Module):
            found |= _of_module(value, f"l_{name}")
    owner = getattr(fn, "__self__", fn)
    if isinstance(owner, Module):
        found |= _of_module(owner, "l_self")
    return found


def _of_module(module: Module, start: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for path, m in module.named_modules():
        way = "".join(f"_modules_{part}" for part in path.split(".") if part)
        for kind, tensors in (("parameters", m._parameters), ("buffers", m._buffers)):
            for name, t in tensors.items():
                if t is not None:
                    found.setdefault(id(t), f"{start}{way}_{kind}_{name}_")
    return found


def _argument_names(fn: Any, args: Any, kwargs: Any) -> dict[int, str]:
    """Names for the tensors among the arguments."""
    import inspect

    owner = getattr(fn, "__self__", None)
    shown = owner.forward if isinstance(owner, Module) else fn
    try:
        words = list(inspect.signature(shown).parameters)
    except (TypeError, ValueError):
        words = []
    words += [f"arg{k}" for k in range(len(args))]
    found: dict[int, str] = {}
    for word, value in [*zip(words, args), *kwargs.items()]:
        for k, leaf in enumerate(tree_flatten(value)[0]):
            if isinstance(leaf, Tensor):
                found[id(leaf)] = f"l_{word}_" if leaf is value else f"l_{word}_{k}_"
    return found
