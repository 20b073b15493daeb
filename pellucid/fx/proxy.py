"""Values that record the operations on them (`torch.fx.Proxy`), and the tracers that turn these
into nodes.

A proxy implements `__torch_function__`: each public function, method and operator that receives
one calls it. The tracer appends a node to the graph, and the result is a new proxy.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import dis
import enum
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from .. import dtypes
from ..api import overriding
from ..api.origins import METHODS_INSTEAD, OPERATORS, torch_name
from ..core.tensor import Tensor
from . import traceback as fx_traceback
from ._codegen import magic_methods, reflectable_magic_methods
from ._compatibility import compatibility
from .graph import Graph
from .node import Argument, Node, Target, _nodes_in, map_aggregate
from .operator_schemas import check_for_mutable_operation

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

base_types = (
    str,
    int,
    float,
    bool,
    complex,
    dtypes.dtype,
    Tensor,
    dtypes.device,
    dtypes.memory_format,
    dtypes.layout,
)
_HOME = __name__.partition(".")[0]

# What Tensor's operators are called in graphs, where it is another method.
_METHOD_NAMES = OPERATORS | {"__eq__": "eq", "__pow__": "pow", "__ipow__": "pow_"}


@compatibility(is_backward_compatible=False)
class Scope:
    """Where in the module tree a node was recorded.

    Attributes:
        module_path: the dotted name of the submodule.
        module_type: its class.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


@compatibility(is_backward_compatible=False)
class ScopeContextManager:
    """Puts a scope in the place of another for a block."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = copy.copy(scope)
        self._scope = scope
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: object) -> None:
        self._scope.module_path, self._scope.module_type = (
            self._before.module_path,
            self._before.module_type,
        )


@compatibility(is_backward_compatible=True)
class TracerBase:
    """What makes nodes of calls on proxies; `Tracer` and `GraphAppendingTracer` are the two kinds.

    Attributes:
        graph: the graph that nodes are appended to.
        record_stack_traces: keep the stack of each call in the node.
        check_mutable_operations: refuse functions that write to their arguments.
        trace_asserts: record `assert` on a proxy as a call of `torch._assert`.
        proxy_buffer_attributes: buffers that a module reads become nodes at once, as parameters do.
        traced_func_name: the method of the module that is traced.
        scope, module_stack: the submodules that are being called.
    """

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: collections.OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]
    _asked: overriding.Asked

    @compatibility(is_backward_compatible=True)
    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node in the graph; all nodes of a trace are made here."""
        if kind == "call_function" and self.check_mutable_operations and callable(target):
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(
                {
                    key: value
                    for key, value in fx_traceback.get_current_meta().items()
                    if key != "from_node"
                }
            )
            trace = fx_traceback.get_current_meta().get("stack_trace")
            if trace:
                node.stack_trace = trace
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = self._filter_traceback_frames(traceback.extract_stack())
            if frames:
                node.stack_trace = "".join(frames.format()).strip()
        return node

    def _filter_traceback_frames(
        self, user_stack_summary: traceback.StackSummary
    ) -> traceback.StackSummary:
        """The frames of a stack that are not the library's; while a function is traced, those
        inside of it.
        """
        frames = list(user_stack_summary)
        begin = max(
            (
                at
                for at, frame in enumerate(frames)
                if frame.name == "trace" and _is_library(frame.filename)
            ),
            default=-1,
        )
        return traceback.StackSummary.from_list(
            [frame for frame in frames[begin + 1 :] if not _is_library(frame.filename)]
        )

    @compatibility(is_backward_compatible=True)
    def proxy(self, node: Node) -> Proxy:
        """The proxy for a node; override it to use a class of your own."""
        return Proxy(node, self)

    @compatibility(is_backward_compatible=True)
    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A new node from arguments in which proxies stand, and the proxy for it.

        Args:
            kind, target: as `op` and `target` of `Node`.
            args, kwargs: go through `create_arg`.
            name, type_expr: as in `Graph.create_node`.
            proxy_factory_fn: makes the proxy, in place of `proxy`.
        """
        made_args = self.create_arg(args)
        made_kwargs = self.create_arg(kwargs)
        if not isinstance(made_args, tuple):
            raise AssertionError(f"Expected args_ to be tuple, got {type(made_args)}")
        if not isinstance(made_kwargs, dict):
            raise AssertionError(f"Expected kwargs_ to be dict, got {type(made_kwargs)}")
        node = self.create_node(kind, target, made_args, made_kwargs, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def _find_user_frame(self) -> FrameType | None:
        """The innermost frame that is not of this package."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_library(frame.f_code.co_filename):
            frame = frame.f_back
        return frame

    @compatibility(is_backward_compatible=True)
    def create_arg(self, a: Any) -> Argument:
        """An argument of a node from one of a call: proxies become nodes, containers are gone
        through.

        Override it to let values of other types be arguments.

        Raises:
            NotImplementedError: a value of a type that a node cannot hold.
            RuntimeError: a proxy in the key of a dictionary.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {
                field.name: self.create_arg(getattr(a, field.name))
                for field in dataclasses.fields(a)
            }
            return self.create_node("call_function", type(a), (), fields)
        if a is None or a is ... or isinstance(a, (*base_types, enum.Enum)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        made = self.create_arg(key)
        for node in _nodes_in(made):
            raise RuntimeError(
                f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}"
            )
        return made

    @compatibility(is_backward_compatible=True)
    def to_bool(self, obj: Proxy) -> bool:
        """What a proxy is in `if` and `while`. Override it to give an answer.

        Raises:
            TraceError: always, since the value is not known.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    @compatibility(is_backward_compatible=True)
    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What a loop over a proxy goes through. Override it to give an answer.

        Raises:
            TraceError: always, since the length is not known.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
            "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
            "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    @compatibility(is_backward_compatible=True)
    def keys(self, obj: Proxy) -> Any:
        """What `proxy.keys()` gives, which `**proxy` asks for."""
        return Attribute(obj, "keys")()


@compatibility(is_backward_compatible=False)
class GraphAppendingTracer(TracerBase):
    """The tracer behind proxies that are made by hand: it appends to their graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


@compatibility(is_backward_compatible=False)
def assert_fn(x: Any) -> None:
    """`assert x`, as a function."""
    if not x:
        raise AssertionError("Assertion failed")


@compatibility(is_backward_compatible=True)
class TraceError(ValueError):
    """A program asked for the value of a proxy, which is not known while tracing."""


@compatibility(is_backward_compatible=True)
class Proxy:
    """Stands for the value of a node: what is done to it is appended to the graph.

    Args:
        node: the node.
        tracer: what makes the new nodes; by default a `GraphAppendingTracer` of the node's graph.

    >>> import pellucid as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> y = torch.relu(x) + 1
    >>> _ = graph.output(y.node)
    >>> print(torch.fx.GraphModule(torch.nn.Module(), graph).code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """

    _as_written = True

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer = tracer
        self.node = node
        # Functions ask `__torch_function__` while there is a tracer that has proxies.
        if "_asked" not in vars(tracer):
            tracer._asked = overriding.Asked()

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        made = object.__new__(type(self))
        memo[id(self)] = made
        # the copies append where this one does
        made.__dict__ = {
            key: value if key == "tracer" else copy.deepcopy(value, memo)
            for key, value in self.__dict__.items()
        }
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        caller = sys._getframe(1)
        step = next(
            (i for i in dis.get_instructions(caller.f_code) if i.offset == caller.f_lasti), None
        )
        if step is not None and step.opname == "UNPACK_SEQUENCE":
            return (operator.getitem(self, at) for at in range(step.argval))
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _in_assert(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    @compatibility(is_backward_compatible=True)
    def keys(self) -> Any:
        """What `Tracer.keys` gives."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Any,
        types: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        """Append a call of a function or method of the library."""
        args = args or ()
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None
            return value

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers.keys())} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = getattr(orig_method, "__name__", "")
        if name == "__get__":
            getter = orig_method.__self__
            attribute = next(
                (key for key, value in vars(Tensor).items() if value is getter),
                overriding.public_name(orig_method),
            )
            return tracer.create_proxy("call_function", getattr, (*args, attribute), kwargs)
        if hasattr(orig_method, "__wrapped_method__"):
            return tracer.create_proxy("call_method", _METHOD_NAMES.get(name, name), args, kwargs)
        full = torch_name(orig_method) or name
        if full in METHODS_INSTEAD and len(args) == 1 and not kwargs:
            return tracer.create_proxy("call_method", full.rpartition(".")[2], args, kwargs)
        name = full.rpartition(".")[2]
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(name)
        )


@compatibility(is_backward_compatible=True)
class Attribute(Proxy):
    """An attribute of a proxy. Reading it makes a node only when the value is used; calling it is a
    method call.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made when it is asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            ).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


@compatibility(is_backward_compatible=False)
class ParameterProxy(Proxy):
    """A parameter whose shape is known while tracing (`Tracer(param_shapes_constant=True)`)."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, Tensor):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's sizes."""
        return self.param.shape

    def size(self) -> Any:
        """The parameter's sizes."""
        return self.param.size()

    def dim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.ndim

    def numel(self) -> int:
        """How many elements the parameter has."""
        return self.param.numel()

    def nelement(self) -> int:
        """How many elements the parameter has."""
        return self.param.nelement()


def _is_library(filename: str) -> bool:
    return f"/{_HOME}/" in filename.replace("\\", "/") or filename.startswith("<frozen")


def _in_assert(frame: FrameType) -> bool:
    """Whether the truth that is asked for is that of an `assert`."""
    steps = list(dis.get_instructions(frame.f_code))
    at = next((at for at, step in enumerate(steps) if step.offset == frame.f_lasti), None)
    if at is None:
        return False
    step = (
        steps[at]
        if "POP_JUMP" in steps[at].opname
        else next((s for s in steps[at + 1 :] if "POP_JUMP" in s.opname), None)
    )
    if step is None or "TRUE" not in step.opname:
        return False
    following = steps[steps.index(step) + 1]
    while following.opname in ("NOT_TAKEN", "CACHE"):
        following = steps[steps.index(following) + 1]
    return following.opname == "LOAD_ASSERTION_ERROR" or following.argval is AssertionError


def _operator_method(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name, None) or operator.truediv  # `div` is Python 2's

    def method(*args: Any, **kwargs: Any) -> Proxy:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    method.__doc__ = f"Append a call of `operator.{name}`."
    return method


def _reflected_method(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name, None) or operator.truediv

    def method(self: Proxy, rhs: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    method.__doc__ = f"Append a call of `operator.{name}` with the proxy second."
    return method


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(_name))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_method(_name))
