"""Graphs from functions and modules, by calling them with proxies (`torch.fx.symbolic_trace`)."""

from __future__ import annotations

import collections
import copy
import functools as functools  # libraries take it from here
import inspect
import math
from collections.abc import Callable
from itertools import chain
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ..api.origins import at_origin
from ..classes import ScriptObject as ScriptObject
from ..core.tensor import Parameter, Tensor
from ..errors import warn
from ..nn import Module, Sequential
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from ._compatibility import compatibility
from ._patching import (
    _autowrap_check,
    _create_wrapped_func,
    _create_wrapped_method,
    _find_proxy,
    _patch_wrapped_functions,
    _Patcher,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
    patched_function,
    wrap,
)
from .graph import Graph
from .graph_module import TRACER, GraphModule
from .node import Argument
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, base_types

__all__ = [
    "PH",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

# names that PyTorch has here
_EXTRA = (
    _create_wrapped_func,
    _create_wrapped_method,
    _find_proxy,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
)
_HOME = __name__.partition(".")[0]
HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_orig_module_call: Callable[..., Any] = Module.__call__
_orig_module_getattr: Callable[..., Any] = Module.__getattr__
_proxyable_classes: dict[type, None] = {}
_tracing = 0  # how many traces are running


def is_fx_tracing() -> bool:
    """Whether a trace is running."""
    return _tracing > 0


def is_fx_symbolic_tracing() -> bool:
    """Whether a trace of `symbolic_trace` or of a `Tracer` is running."""
    return _tracing > 0


class ProxyableClassMeta(type):
    """Metaclass: making an instance from proxies is recorded as a call of the class.

    >>> import pellucid as torch
    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> graph = torch.fx.symbolic_trace(lambda x: Pair(x, x + 1)).graph
    >>> [node.name for node in graph.nodes]
    ['x', 'add', 'pair', 'output']
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.__new__(cls)  # type: ignore[call-overload]
        if not is_fx_tracing():
            cls.__init__(made, *args, **kwargs)  # type: ignore[misc]
            return made
        proxy = _find_proxy(args, kwargs)
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(made, *args, **kwargs)  # type: ignore[misc]
        return made


@compatibility(is_backward_compatible=False)
class PHBase:
    """An argument that stays an input although its container is given (`concrete_args`)."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


@compatibility(is_backward_compatible=False)
class PHWithMeta(PHBase):
    """A `PH` whose attributes are given to the node.

    Args:
        ph_key: a name for whoever looks for it.
    """

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


@compatibility(is_backward_compatible=True)
class Tracer(TracerBase):
    """Makes a graph of a module or function by running it on proxies. Override its methods to
    change what is recorded.

    Args:
        autowrap_modules: modules of Python whose functions are recorded as they are, when they are
            called on proxies.
        autowrap_functions: further such functions.
        param_shapes_constant: the shapes of parameters are numbers, so that a module may decide by
            them.

    >>> import pellucid as torch
    >>> class Deep(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> print(Deep().trace(torch.nn.Sequential(torch.nn.ReLU())))
    graph():
        %input_1 : [num_users=1] = placeholder[target=input]
        %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%input_1,), kwargs = {inplace: False})
        return relu
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        named = chain(*(vars(module).items() for module in autowrap_modules))
        self._autowrap_function_ids = {
            id(value) for name, value in named if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids |= {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Module = Module()

    _parameter_proxies: dict[str, Any] | None = None  # while a trace runs

    @compatibility(is_backward_compatible=True)
    def get_fresh_qualname(self, prefix: str) -> str:
        """The first of `prefix0`, `prefix1`, ... that the root has no attribute of."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    @compatibility(is_backward_compatible=True)
    def create_arg(self, a: Any) -> Argument:
        """As in `TracerBase`; parameters, buffers, submodules and tensors become nodes that read an
        attribute of the module.

        A tensor that the module does not have becomes an attribute `_tensor_constant0` of it.

        Raises:
            NameError: a parameter of another module.
        """
        if isinstance(a, Parameter):
            name = next((name for name, own in self.root.named_parameters() if own is a), None)
            if name is None:
                raise NameError("parameter is not a member of this module")
            read = self._own_parameter(a)
            if isinstance(read, Proxy):
                return read.node
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Tensor):
            name = next(
                (name for name, own in self.root.named_buffers() if own is a), None
            ) or self.tensor_attrs.get(a)
            if name is None:
                name = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            name = next((name for name, own in self.root.named_modules() if own is a), None)
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node(
                "call_function", type(a), tuple(self.create_arg(item) for item in a), {}
            )
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _own_parameter(self, parameter: Any) -> Any:
        """What the module that is running gets when it reads its own parameter; some of ours read
        it past `__getattr__`.
        """
        if self._parameter_proxies is None:
            return None
        path = next(reversed(self.module_stack.values()))[0] if self.module_stack else ""
        for name, own in self.root.get_submodule(path)._parameters.items():
            if own is parameter:
                return self.getattr(name, parameter, self._parameter_proxies)
        return None

    @compatibility(is_backward_compatible=True)
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a submodule's call is one node; by default for the modules of `torch.nn` but
        `Sequential`.
        """
        home = type(m).__module__.split(".")
        return home[0] in (_HOME, "torch") and home[1:2] == ["nn"] and not isinstance(m, Sequential)

    @compatibility(is_backward_compatible=True)
    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a submodule.

        Raises:
            NameError: it is none of the module that is traced.
        """
        paths = self.submodule_paths or {own: name for name, own in self.root.named_modules()}
        if mod not in paths:
            raise NameError("module is not installed as a submodule")
        return paths[mod]

    @compatibility(is_backward_compatible=True)
    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A submodule is called: one node for a leaf, else `forward(*args, **kwargs)`, whose calls
        are recorded.
        """
        name = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(name, type(m))):
            calls = self.num_calls.get(name, 0)
            self.num_calls[name] = calls + 1
            key = f"{name}@{calls}" if calls else name
            self.module_stack[key] = (name, type(m))
            try:
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem(last=True)

    @compatibility(is_backward_compatible=False)
    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute of a module is read: a proxy for a parameter, the same one each time; else
        the attribute itself.

        Args:
            attr: its name.
            attr_val: the attribute.
            parameter_proxy_cache: proxies by the dotted names of what they stand for.
        """
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, value: Any, named: Any, cache: dict[str, Any]) -> Any:
        name = next((name for name, own in named if own is value), None)
        if name is None:
            return value
        if name not in cache:
            options: dict[str, Any] = {}
            if "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                options["proxy_factory_fn"] = (
                    (lambda node: ParameterProxy(self, node, name, value))
                    if self.param_shapes_constant
                    else None
                )
            cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
        return cache[name]

    # -- the inputs --------------------------------------------------------------------------------
    @compatibility(is_backward_compatible=False)
    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function to run and its arguments, with a node for each input.

        Raises:
            RuntimeError: a method without `self`; not as many `concrete_args` as arguments.
        """
        analysed = inspect.unwrap(root_fn)
        code: CodeType = analysed.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        skip = 0
        if is_module:
            if count == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skip = 1
            next(names)
            args.append(self.root)
        signature = inspect.signature(analysed)
        arguments = [next(names) for _ in range(skip, count)]
        if isinstance(concrete_args, tuple):
            if len(arguments) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(arguments)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(arguments, concrete_args, strict=True))
        args += [
            self._proxy_placeholder(name, concrete_args, signature, analysed) for name in arguments
        ]
        if code.co_kwonlyargcount > 0 or code.co_flags & HAS_VARSTUFF:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(
                    self._proxy_placeholder("*" + next(names), concrete_args, signature, analysed)
                )
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(
                    self._proxy_placeholder("**" + next(names), concrete_args, signature, analysed)
                )
            root_fn = patched_function(analysed, len(args))
        flat, spec = tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children_specs):
            return root_fn, args
        codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames[:count]), _as_list(spec), None))
        self.graph._codegen = codegen

        def flatten_fn(*leaves):  # an annotation would be the graph's
            result = root_fn(*tree_unflatten(list(leaves), spec))
            out, out_spec = tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        return flatten_fn, flat

    def _proxy_placeholder(
        self,
        name: str,
        concrete_args: Any,
        sig: inspect.Signature,
        fn_for_analysis: Callable[..., Any],
    ) -> Any:
        if concrete_args is not None and name in concrete_args:
            count = 0

            def replace_ph(x: Any) -> Any:
                nonlocal count
                count += 1
                default = sig.parameters[name].default
                given = () if default is inspect.Parameter.empty else (default,)
                out = self.create_proxy("placeholder", f"{name}_{count}", given, {})
                if isinstance(x, PHBase):
                    if x is not PH:
                        for key, value in vars(x).items():
                            setattr(out.node, key, value)
                    return out
                self._specialize(name, x, out)
                return x

            return tree_map(replace_ph, concrete_args[name])
        default: tuple[Any, ...] = ()
        if not name.startswith("*"):
            parameter = sig.parameters[name]
            default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        return self.create_proxy(
            "placeholder",
            name,
            default,
            {},
            type_expr=_annotation(fn_for_analysis, name.strip("*")),
        )

    def _specialize(self, name: str, value: Any, out: Proxy) -> None:
        """Have the code check that it is called with the value it was traced for."""
        said = f"{name} has been specialized to have value {value} but got another value"
        if isinstance(value, base_types) and not isinstance(value, Tensor):
            self.create_proxy("call_function", at_origin("torch._assert"), (out == value, said), {})
        elif value is None:
            self.create_proxy("call_function", _assert_is_none, (out, said), {})
        else:
            warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user "
                "to make sure that your inputs match the inputs you specialized the function with.",
            )

    # -- the run -----------------------------------------------------------------------------------
    @compatibility(is_backward_compatible=True)
    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """The graph of a module's `forward` or of a function.

        Args:
            root: what to run.
            concrete_args: arguments that are values and no inputs, by name; in containers, `PH`
                stands for an input.

        Raises:
            TraceError: the program asks for a value that is not known.
        """
        global _tracing
        is_module = isinstance(root, Module)
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            fn = root
        self.graph = Graph(tracer_cls=type(self))
        code = getattr(fn, "__code__", None)
        if code is not None:
            self.graph._co_fields = {
                "co_name": code.co_name,
                "co_filename": code.co_filename,
                "co_firstlineno": code.co_firstlineno,
            }
        self.tensor_attrs = {}
        self._collect_tensors(self.root, ())
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        fn_globals = fn.__globals__
        before = _tracing
        _tracing = before + 1
        self._parameter_proxies = {}
        try:
            fn, args = self.create_args_for_root(fn, is_module, concrete_args)
            with _Patcher() as patcher:
                patcher.patch_method(
                    Module,
                    "__getattr__",
                    self._getattr_wrapper(self._parameter_proxies),
                    deduplicate=False,
                )
                patcher.patch_method(
                    Module, "__call__", self._call_wrapper(patcher), deduplicate=False
                )
                _patch_wrapped_functions(patcher)
                _autowrap_check(patcher, fn_globals, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
                result = self.create_arg(fn(*args))
                self.create_node(
                    "output", "output", (result,), {}, type_expr=_annotation(fn, "return")
                )
            self.submodule_paths = None
        finally:
            _tracing = before
            self._parameter_proxies = None
        return self.graph

    def _collect_tensors(self, module: Module, prefix: tuple[str, ...]) -> None:
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                self.tensor_attrs[value] = ".".join((*prefix, name))
        for name, child in module.named_children():
            self._collect_tensors(child, (*prefix, name))

    def _getattr_wrapper(self, cache: dict[str, Any]) -> Callable[..., Any]:
        def __getattr__(module: Module, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(module, name), cache)

        return __getattr__

    def _call_wrapper(self, patcher: _Patcher) -> Callable[..., Any]:
        def __call__(module: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(module, *args, **kwargs)

            scope = getattr(getattr(module, "forward", module), "__globals__", {})
            _autowrap_check(patcher, scope, self._autowrap_function_ids)
            return self.call_module(module, forward, args, kwargs)

        return __call__

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = Tracer.__new__(type(self))
        memo[id(self)] = made
        for key, value in self.__dict__.items():
            made.__dict__[key] = (
                value if key in ("_autowrap_search", "_asked") else copy.deepcopy(value, memo)
            )
        return made


TRACER.append(Tracer)


def _annotation(function: Any, name: str) -> Any:
    """The annotation of a parameter; those of this library's own modules are for type checkers, and
    only `Tensor` is one of PyTorch's.
    """
    found = getattr(function, "__annotations__", {}).get(name)
    if isinstance(found, str) and (function.__module__ or "").partition(".")[0] == _HOME:
        return Tensor if found == "Tensor" else None
    return found


def _as_list(spec: Any) -> Any:
    """The structure of a tuple of arguments as that of a list of them, which generated code makes."""
    return TreeSpec(list, spec.context, spec.children_specs)


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


@compatibility(is_backward_compatible=True)
def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | tuple[Any, ...] | None = None
) -> GraphModule:
    """A module that does what a module or function does, with its program as a graph that can be
    read and changed.

    The program is run once on proxies, which write down what is done to them. What it decides by
    values of tensors cannot be known then.

    Args:
        root: the module or function.
        concrete_args: arguments that are values and no inputs, by name; in containers,
            `torch.fx.PH` stands for an input.

    Returns:
        A `GraphModule` with the parameters, buffers and submodules that the program uses.

    Raises:
        TraceError: the program asks for the value of an input.

    >>> import pellucid as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x).sum())
    >>> print(gm.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        sum_1 = relu.sum();  relu = None
        return sum_1
    >>> gm(torch.tensor([1.0, -1.0]))
    tensor(1.)
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)  # type: ignore[arg-type]
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
