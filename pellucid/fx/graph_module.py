"""Modules whose `forward` is generated from a graph (`torch.fx.GraphModule`)."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import importlib
import itertools
import linecache
import os
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from ..api.attach import LENT
from ..core.tensor import Parameter, Tensor
from ..errors import warn
from ..nn import Module
from ..nn.modules._naming import add_indent
from ._codegen import PythonCode, _PyTreeCodeGen
from ._compatibility import compatibility
from ._namespace import _custom_builtins
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_HOME = __name__.partition(".")[0]
_numbers = itertools.count()
# texts whose functions are no more; they leave `linecache` with the next text
_gone: collections.deque[str] = collections.deque()
TRACER: list[type] = []  # `Tracer`, which stands in a module that needs this one
# in `meta`: attributes that copies get, by name
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_FOOTER = "# To see more debug info, please use `graph_module.print_readable()`"


# ---- code into functions ----------------------------------------------------------------------
def _forward_from_src(
    src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> FunctionType:
    """The function `forward` of a text."""
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(
    method_name: str, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> FunctionType:
    """A function of a text; tracebacks show its lines as long as it lives."""
    scope = globals.copy()
    origin = ""
    if co_fields:
        origin = f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    name = f"<eval_with_key>.{next(_numbers)}{origin}"
    exec(compile(src, name, "exec"), scope)
    while _gone:
        linecache.cache.pop(_gone.popleft(), None)
    linecache.cache[name] = (len(src), None, src.splitlines(keepends=True), name)
    function = scope.pop(method_name)
    # Not out of the cache at once: the function may be collected while `linecache` itself goes
    # through it.
    weakref.finalize(function, _gone.append, name)
    return function


def _import_for_torch(name: str, *args: Any, **kwargs: Any) -> Any:
    """`import torch` in the text of a pickled module means this library, whatever else has that
    name.
    """
    if name == "torch" or name.startswith("torch."):
        given = dict(zip(("globals", "locals", "fromlist", "level"), args)) | kwargs
        module = importlib.import_module(_HOME + name.removeprefix("torch"))
        return module if given.get("fromlist") else importlib.import_module(_HOME)
    return builtins.__import__(name, *args, **kwargs)


def _format_import_statement(name: str, obj: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    module = getattr(obj, "__module__", None)
    attribute = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if module is None or attribute is None or "<" in attribute:
        raise RuntimeError(
            f"cannot pickle {obj!r}, which the code calls {name}: it has no name to import it by"
        )
    if "." in attribute:
        first, _, rest = attribute.partition(".")
        return f"from {module} import {first} as _{name}\n{name} = _{name}.{rest}"
    return f"from {module} import {attribute} as {name}"


def _format_import_block(globals: dict[str, Any]) -> str:
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in globals.items()}))


@compatibility(is_backward_compatible=True)
def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """The module of a pickle: its code is run once more on proxies, which gives the graph.

    Args:
        body: the module's attributes, without the graph.
        import_block: import statements for the names that the code uses.
    """
    source = body.get("_code") or body["code"]
    scope: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": _import_for_torch}}
    exec(compile(import_block, "<imports of a GraphModule>", "exec"), scope)
    del scope["__builtins__"]
    forward = _forward_from_src(source, scope)
    return _deserialize_graph_module(forward, body)


class _CodeOnlyModule(Module):
    """A module with the attributes of another and a `forward` of its own."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _deserialize_graph_module(
    forward: FunctionType, body: dict[str, Any], graph_module_cls: Any = None
) -> Module:
    body = dict(body)
    traced_by = body.get("_tracer_cls") or TRACER[0]
    class_name = body.pop("_graphmodule_cls_name", "GraphModule")

    class Holder(_CodeOnlyModule):
        pass

    Holder.forward = forward

    class KeepModules(traced_by):  # type: ignore[misc, valid-type]
        """All submodules stay calls, whatever the tracer that made the graph looks into."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    holder = Holder(body)
    extras = body.get("_tracer_extras") or {}
    graph = KeepModules().trace(holder, **extras)
    graph._tracer_cls = body.get("_tracer_cls")
    made = (graph_module_cls or GraphModule)(holder, graph, class_name=class_name)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


# ---- attributes by dotted names -----------------------------------------------------------------
def _owner(module: Module, path: list[str]) -> Module | None:
    """The module at a dotted name, with plain modules put where there is none on the way; None
    where something else is in the way.
    """
    for name in path:
        inner = getattr(module, name, None)
        if inner is None:
            inner = Module()
            setattr(module, name, inner)
        elif not isinstance(inner, Module):
            return None
        module = inner
    return module


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give `to_module` the attribute of `from_module`; what is in a module that both share is there
    already.
    """
    *path, last = target.split(".")
    ours: Any = to_module
    for name in path:
        from_module, ours = getattr(from_module, name), getattr(ours, name, None)
        if from_module is ours:
            return
    _assign_attr(
        getattr(from_module, last),
        to_module,
        target,
        persistent=last not in from_module._non_persistent_buffers_set,
    )


def _assign_attr(from_obj: Any, to_module: Module, target: str, persistent: bool = True) -> None:
    *path, last = target.split(".")
    owner: Any = _owner(to_module, path)
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, Parameter):
        owner.register_buffer(last, from_obj, persistent=persistent)
    else:
        setattr(owner, last, from_obj)


def _get_attr(model: Module, attr_name: str) -> Any:
    value: Any = model
    for name in attr_name.split("."):
        value = getattr(value, name)
    return value


def _has_attr(model: Module, attr_name: str) -> bool:
    value: Any = model
    for name in attr_name.split("."):
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True


def _del_attr(model: Module, attr_name: str) -> None:
    path, _, last = attr_name.rpartition(".")
    delattr(_get_attr(model, path) if path else model, last)


# ---- calls --------------------------------------------------------------------------------------
class _WrappedCall:
    """Calls the module; where its own code fails, the lines around the place are printed."""

    def __init__(self, cls: Any, cls_call: Callable[..., Any] | None) -> None:
        self.cls = cls
        self.cls_call = cls_call

    @staticmethod
    def _generate_error_message(frame_summary: traceback.FrameSummary) -> str:
        number = frame_summary.lineno or 0
        line = frame_summary.line or ""
        lines = linecache.getlines(frame_summary.filename)
        return "\n".join(
            [
                traceback.format_exc(),
                f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:",
                "".join(lines[number - 2 : number]),
                "~" * len(line) + "~~~ <--- HERE",
                "\n".join(lines[number : number + 2]),
            ]
        )

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__))
            if frames and "eval_with_key" in frames[-1].filename:
                print(_WrappedCall._generate_error_message(frames[-1]), file=sys.stderr)
                raise error.with_traceback(None)  # noqa: B904 (the message has the lines)
            raise


@compatibility(is_backward_compatible=True)
class GraphModule(Module):
    """A module whose `forward` is Python code made from a graph.

    Args:
        root: a module, whose attributes and submodules that the graph names are taken over; or a
            dictionary of them by dotted names.
        graph: the program. Assigning another one to `graph` makes the code anew; after changing it
            in place, call `recompile`.
        class_name: what the module's class is called.

    Raises:
        RuntimeError: `root` is neither a module nor a dictionary, or lacks something that the graph
            names.

    >>> import pellucid as torch
    >>> gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> for node in gm.graph.nodes:
    ...     if node.op == "call_module" and node.target == "1":
    ...         node.op, node.target = "call_function", torch.sigmoid
    >>> _ = gm.recompile()
    >>> print(gm.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = torch.sigmoid(_0);  _0 = None
        return _1
    """

    _graph: Graph

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A class for each module: `forward` is set on it, so that `super().forward` and
        # TorchScript-like readers find it.
        base = next(
            kind for kind in cls.__mro__ if kind.__qualname__.split(".")[-1] != "GraphModuleImpl"
        )

        class GraphModuleImpl(base):  # type: ignore[misc, valid-type]
            __doc__ = None

        return super().__new__(GraphModuleImpl)

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if not isinstance(node.target, str):
                        raise AssertionError(
                            f"Expected node.target to be str, got {type(node.target)}"
                        )
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            targets = []
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if node.target not in root:
                        raise RuntimeError(
                            f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                        )
                    targets.append(str(node.target))
            # Outer modules first: what is inside of them is then there already.
            for target in sorted(targets, key=lambda name: name.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[..., Any]] = []
        self._erase_node_hooks: list[Callable[..., Any]] = []
        self._deepcopy_hooks: list[Callable[..., Any]] = []

    @property
    def graph(self) -> Graph:
        """The program; after changing it in place, call `recompile`."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    @compatibility(is_backward_compatible=True)
    def recompile(self) -> PythonCode:
        """Make the code anew from the graph."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        self._lineno_map = made._lineno_map
        self._prologue_start = made._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, made.globals, self._graph._co_fields)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return made

    def _recompile_submodules(self) -> list[tuple[str, PythonCode]]:
        return [
            (name, child.recompile())
            for name, child in self.named_children()
            if isinstance(child, GraphModule)
        ]

    # -- submodules --------------------------------------------------------------------------------
    @compatibility(is_backward_compatible=False)
    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a dotted name, with plain modules on the way; False when something else
        is in the way.
        """
        *path, last = target.split(".")
        module = _owner(self, path)
        if module is None:
            return False
        module.add_module(last, m)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_submodule(self, target: str) -> bool:
        """Take out the submodule with a dotted name; False when there is none."""
        *path, last = target.split(".")
        module: Any = self
        for name in path:
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, last, None), Module):
            return False
        delattr(module, last)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_all_unused_submodules(self) -> None:
        """Take out the submodules that no node calls or reads, nor anything inside of them."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = str(node.target).split(".")
            used |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    called = self.get_submodule(str(node.target))
                    used |= {f"{node.target}.{name}" for name, _ in called.named_modules() if name}
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # -- copies ------------------------------------------------------------------------------------
    def __reduce__(self) -> Any:
        body = self.__dict__.copy()
        del body["_graph"]
        made = self.recompile()
        return reduce_graph_module, (body, _format_import_block(made.globals))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        holder = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, holder, holder.__dict__["_graph"])
        for key, value in holder.__dict__.items():
            if key not in made.__dict__ or key.endswith("_hooks") or key == "meta":
                made.__dict__[key] = value
        for key, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, key, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    # -- words and files ---------------------------------------------------------------------------
    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code, _FOOTER])

    @compatibility(is_backward_compatible=False)
    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """The code of this module and of the graph modules in it as classes, with the places that
        it comes from.

        Args:
            print_output: print it, too.
            include_stride, include_device: show strides and devices of tensors whose values are
                known.
            colored, fast_sympy_print, expanded_def, additional_meta: accepted; the text is the same.
        """
        text = _readable(self, self._get_name(), include_stride, include_device)
        if print_output:
            print(text)
        return text

    @compatibility(is_backward_compatible=False)
    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a Python package: its code, and its parameters and submodules as
        files.

        Args:
            folder: where to; made when it is not there.
            module_name: the class's name.
        """
        save = LENT.get("save") or getattr(importlib.import_module(_HOME), "save")  # noqa: B009 (a lazy name)
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        save(self.state_dict(), folder / "state_dict.pt")
        imports = "\n".join(builtin.import_str for builtin in _custom_builtins.values())
        lines = []
        pickled = []
        plain = {
            "Linear",
            "Conv1d",
            "Conv2d",
            "Conv3d",
            "BatchNorm1d",
            "BatchNorm2d",
            "BatchNorm3d",
        }
        for name, module in self.named_children():
            shown = str(module)
            if type(module).__name__ in plain:
                lines.append(f"setattr(self, '{name}', {shown})")
            else:
                pickled.append(name)
                file = folder / f"{name}.pt"
                save(module, file)
                lines.append(
                    f"setattr(self, '{name}', torch.load(r'{file}', weights_only=False)) # {_one_line(shown)}"
                )
        for name, buffer in self._buffers.items():
            if buffer is None:
                continue
            if name in self._non_persistent_buffers_set:
                file = folder / f"{name}.pt"
                save(buffer, file)
                lines.append(
                    f"self.register_buffer('{name}', torch.load(r'{file}'), persistent=False)"
                )
            else:
                lines.append(
                    f"self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"
                )
        for name, parameter in self._parameters.items():
            if parameter is not None:
                made = f"torch.nn.Parameter(torch.empty({list(parameter.shape)}, dtype={parameter.dtype}))"
                lines.append(f"setattr(self, '{name}', {made})")
        lines.append(f"self.load_state_dict(torch.load(r'{folder / 'state_dict.pt'}'))")
        setup = "\n".join(" " * 8 + line for line in lines)
        text = (
            f"\nimport torch\n{imports}\n\nfrom torch.nn import *\nclass {module_name}(torch.nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n{setup}\n\n{add_indent(self.code, 4)}"
        )
        (folder / "module.py").write_text(text)
        (folder / "__init__.py").write_text("from .module import *")
        if pickled:
            warn(
                f"Was not able to save the following children modules as reprs -saved as pickled files instead: {pickled}",
            )

    # -- hooks -------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        if not callable(f):
            raise AssertionError("Replace hook must be a callable.")
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        """Call `f(old=node, new=name, user=node)` when a node takes another's place in the
        arguments of a user.
        """
        self._replace_hooks.append(_callable(f))

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        """Call `f(node)` when a node is made."""
        self._create_node_hooks.append(_callable(f))

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        """Call `f(node)` before a node is taken out."""
        self._erase_node_hooks.append(_callable(f, "erase_node"))

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        """Call `f(copy)` when the module is copied deeply."""
        self._deepcopy_hooks.append(_callable(f, "deepcopy"))

    def _unregister_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        self._deepcopy_hooks.remove(f)


def _callable(f: Any, kind: str = "create_node") -> Any:
    if not callable(f):
        raise AssertionError(f"{kind} hook must be a callable.")
    return f


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def _readable(module: Any, name: str, include_stride: bool, include_device: bool) -> str:
    code = module.graph.python_code(
        "self", verbose=True, include_stride=include_stride, include_device=include_device
    ).src
    own = add_indent(f"class {name}(torch.nn.Module):\n{code.lstrip(chr(10))}", 4)
    inner = [
        _readable(child, child_name, include_stride, include_device)
        for child_name, child in module.named_children()
        if hasattr(child, "graph")
    ]
    return own + add_indent("\n".join(["", *inner]), 4)
