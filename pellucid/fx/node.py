"""One step of a graph (`torch.fx.Node`), and functions that traverse arguments.

A node's arguments are immutable tuples and containers. The lists of users are updated where
`args` and `kwargs` are set, and nowhere else, so they are always correct.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from ..api.origins import torch_name
from ._compatibility import compatibility
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
# as a set that keeps its order
_legal_ops = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)
_HOME = __name__.partition(".")[0]

# Short names of element types in readable code.
dtype_abbrs = {
    "bfloat16": "bf16",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2fnuz": "f8e5m2fnuz",
}

# Functions whose calls stay in a graph although nobody uses their result: by PyTorch's names, which
# need no import of the functions.
_IMPURE_NAMES = frozenset({"torch._assert", "torch._assert_async"})
_side_effectful_functions: set[Callable[..., Any]] = set()


@compatibility(is_backward_compatible=False)
def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have calls of a function stay in graphs, also where nobody uses the result; the function is
    returned.

    >>> import pellucid as torch
    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


# ---- names ------------------------------------------------------------------------------------
def _type_repr(obj: Any) -> str:
    """A type as it is written in a program: `int`, `torch.Tensor`, `typing.List[int]`."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return torch_name(obj) or f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    inner = typing.get_args(obj)
    if not inner:
        return repr(obj)
    origin: Any = typing.get_origin(obj)
    if origin in (typing.Union, types.UnionType):
        rest = [part for part in inner if part is not type(None)]
        if origin is types.UnionType:
            return " | ".join("None" if part is type(None) else _type_repr(part) for part in inner)
        if len(rest) == 1 and len(inner) == 2:
            return f"typing.Optional[{_type_repr(rest[0])}]"
        return f"typing.Union[{', '.join('NoneType' if part is type(None) else _type_repr(part) for part in inner)}]"
    base = (
        f"typing.{obj._name}"
        if getattr(obj, "_name", None) and type(obj).__module__ == "typing"
        else _type_repr(origin)
    )
    if inner and isinstance(inner[0], list):
        return f"{base}[[{', '.join(map(_type_repr, inner[0]))}], {', '.join(map(_type_repr, inner[1:]))}]"
    return f"{base}[{', '.join('()' if part == () else _type_repr(part) for part in inner)}]"


def _find_module_of_method(orig_method: Callable[..., Any]) -> str:
    name = orig_method.__name__
    module = getattr(orig_method, "__module__", None)
    if module is not None:
        return module
    found = torch_name(orig_method)
    if found is None:
        raise RuntimeError(f"cannot find module for {orig_method}")
    return found.removesuffix("." + name)


def _get_qualified_name(func: Any) -> str:
    """Dotted name by which a function or class is found in a program; one of this library, under
    PyTorch's name.
    """
    known = torch_name(func)
    if known is not None:
        return (
            "torch.ops" + known.removeprefix("torch._ops")
            if known.startswith("torch._ops.")
            else known
        )
    name = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{func.__objclass__.__module__}.{func.__qualname__}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(func).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    return f"{_find_module_of_method(func)}.{name}"


def _format_arg(arg: Any, max_list_len: float = math.inf) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, list):
        items = [_format_arg(item) for at, item in enumerate(arg) if at < max_list_len]
        more = [f"...[total_len={len(arg)}]"] if len(arg) > max_list_len else []
        return f"[{', '.join(items + more)}]"
    if isinstance(arg, tuple):
        items = [_format_arg(item) for at, item in enumerate(arg) if at < max_list_len]
        more = [f"...[total_len={len(arg)}]"] if len(arg) > max_list_len else []
        return f"({', '.join(items + more)}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {_format_arg(value)}' for key, value in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


# ---- arguments --------------------------------------------------------------------------------
@compatibility(is_backward_compatible=True)
def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """The arguments with `fn` applied to each that is no tuple, list, dictionary or slice; lists
    and dictionaries come out immutable.

    >>> from pellucid.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(value, fn)) for key, value in a.items()])
    if isinstance(a, slice):
        return slice(
            map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn)
        )
    return fn(a)


@compatibility(is_backward_compatible=True)
def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """The arguments with `fn` applied to each node in them.

    >>> import pellucid as torch
    >>> x = torch.fx.Graph().placeholder("x")
    >>> torch.fx.node.map_arg((x, 1), lambda node: node.name)
    ('x', 1)
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _nodes_in(a: Argument) -> Iterator[Node]:
    if isinstance(a, Node):
        yield a
    elif isinstance(a, (tuple, list)):
        for item in a:
            yield from _nodes_in(item)
    elif isinstance(a, dict):
        for item in a.values():
            yield from _nodes_in(item)
    elif isinstance(a, slice):
        yield from _nodes_in((a.start, a.stop, a.step))


# ---- the node ---------------------------------------------------------------------------------
@compatibility(is_backward_compatible=True)
class Node:
    """One step of a `Graph`: an input, an attribute of the module, a call, or the result.

    Attributes:
        op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
        name: the variable of the result in the code that is made; unique in the graph.
        target: the input's name, the attribute's or module's dotted name, the function, or the
            method's name.
        args, kwargs: what it is called with; nodes stand for their results. Setting them keeps
            `users` true.
        users: the nodes that use this one, as the keys of a dictionary, in the order in which they
            began to.
        meta: a dictionary for whoever works on the graph.
        type: the type of the result where it is annotated, else None.

    >>> import pellucid as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> x.users, y.args, y.format_node()
    ({relu: None}, (x,), '%relu : [num_users=0] = call_function[target=torch.relu](args = (%x,), kwargs = {})')
    """

    graph: Any  # the Graph it is in
    name: str
    op: str
    target: Target
    users: dict[Node, None]
    type: Any
    meta: dict[str, Any]

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        expected = "Callable" if op == "call_function" else "str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {_typename(target)} but a {expected} is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users = {}
        self.meta = {}
        self._erased = False
        self._prev = self._next = self
        self._sort_key: Any = 0
        self._repr_fn: Callable[[Node], str] | None = None
        self._input_nodes: dict[Node, None] = {}
        self._args: Any = ()
        self._kwargs: Any = immutable_dict()
        self._update_args_kwargs(args, kwargs)

    # -- place in the list -----------------------------------------------------------------------
    @property
    def next(self) -> Node:
        """The node after this one; after the last, the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; before the first, the graph's root."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put `x` before this node, moving it there when it is in the graph.

        Raises:
            AssertionError: `x` is of another graph.
        """
        if not isinstance(x, Node):
            raise TypeError("_prepend() argument must be a Node")
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next = self._prev = x
        x._prev, x._next = before, self
        self.graph._moved()

    def append(self, x: Node) -> None:
        """Put `x` after this node: `self.next.prepend(x)`."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def _remove_from_list(self) -> None:
        self._unlink()
        self.graph._moved()

    def _place(self) -> int:
        return self.graph._place_of(self)

    def __lt__(self, other: Node) -> bool:
        """Whether this node comes before another of its graph."""
        return self._place() < other._place()

    def __gt__(self, other: Node) -> bool:
        return self._place() > other._place()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # -- arguments -------------------------------------------------------------------------------
    @property
    def args(self) -> tuple[Argument, ...]:
        """Positional arguments; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """Keyword arguments; assign a new dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, k)

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args = map_aggregate(args, _itself)
        self._kwargs = map_aggregate(kwargs, _itself)
        self._input_nodes = dict.fromkeys((*_nodes_in(self._args), *_nodes_in(self._kwargs)))
        for new in self._input_nodes:
            new.users.setdefault(self)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in `args` and `kwargs`, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the positional argument at `idx`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before the one at `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(
                f"insert_args index must be between 0 and len(self.args), got {idx}"
            )
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace or add a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put one node in the place of another wherever this node's arguments have it."""
        self._replace(old_input, new_input)

    def _replace(self, old: Node, new: Node) -> None:
        for hook in self.graph._hooks("_replace_hooks"):
            hook(old=old, new=new.name, user=self)
        swap = lambda node: new if node is old else node
        self._update_args_kwargs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Put `replace_with` in the place of this node in the arguments of its users.

        Args:
            replace_with: the node to use instead.
            delete_user_cb: which users to change; all of them where it is not given.
            propagate_meta: copy this node's `meta` to `replace_with`, which must have none.

        Returns:
            The users there were.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = list(self.users)
        changed = [user for user in users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user._replace(self, replace_with)
        return changed

    # -- what it is ------------------------------------------------------------------------------
    @property
    def stack_trace(self) -> str | None:
        """The text of the stack at which the node was recorded, where that is kept
        (`Tracer.record_stack_traces`).
        """
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay although nobody uses it: inputs, the result, assertions,
        writes, draws of random numbers.

        Args:
            impure_random: whether a draw counts, since it moves the generator on.

        A module is pure unless it sets `_is_impure`.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if (
                self.target in _side_effectful_functions
                or _name_or_none(self.target) in _IMPURE_NAMES
            ):
                return True
            if self.target is operator.setitem:
                return True
            schema = getattr(self.target, "_schema", None)
            if getattr(schema, "is_mutable", False):
                return True
            return impure_random and _name_or_none(self.target) in _DRAWS
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            module = self.graph.owning_module.get_submodule(str(self.target))
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments bound to the parameters of what is called, defaults filled in; None where
        they are not known.

        Args:
            root: the module that the targets of "call_module" are in.
            arg_types, kwarg_types: types to tell overloads of a function apart.
            normalize_to_only_use_kwargs: give all of them by keyword.

        Returns:
            `torch.fx.operator_schemas.ArgsKwargsPair(args, kwargs)`, or None.
        """
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function" and callable(self.target):
            return normalize_function(
                self.target,
                self._args,
                self._kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs=normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root,
                str(self.target),
                self._args,
                self._kwargs,
                normalize_to_only_use_kwargs=normalize_to_only_use_kwargs,
            )
        return None

    # -- words -----------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) in ("_operator", "builtins") and hasattr(
            target, "__name__"
        ):
            return f"{target.__module__.removeprefix('_')}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as it stands in a printed graph.

        Args:
            placeholder_names: a list that an input's name is added to; the result is then None.
            maybe_return_typename: a list whose first item becomes the annotation of the graph's
                result.
            include_tensor_metadata: show element types and shapes of values in `meta`.
        """
        kind = f"{_type_repr(self.type)} " if self.type else ""
        data = self._data_text() if include_tensor_metadata else ""
        head = f"%{self.name} : {kind}{data}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(
                    f"{self.target}: {_type_repr(self.type)}" if self.type else str(self.target)
                )
                return None
            return head + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        return f"{head}(args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"

    def _data_text(self) -> str:
        value = self.meta.get("val", self.meta.get("tensor_meta", self.meta.get("example_value")))
        return (
            f"{_short_type(value)} " if hasattr(value, "dtype") and hasattr(value, "shape") else ""
        )

    # -- copies ----------------------------------------------------------------------------------
    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_prev", "_next")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prev = self._next = self


def _itself(x: Any) -> Any:
    return x


def _typename(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    module = named.__module__
    return named.__qualname__ if module in ("builtins", None) else f"{module}.{named.__qualname__}"


def _name_or_none(target: Any) -> str | None:
    try:
        return _get_qualified_name(target)
    except Exception:
        return None


_DRAWS = frozenset(
    f"torch.{name}"
    for name in (
        "bernoulli",
        "multinomial",
        "normal",
        "poisson",
        "rand",
        "randint",
        "randn",
        "randperm",
    )
)


def _short_type(value: Any) -> str:
    """`f32[2, 3]` of a tensor or of what describes one."""
    short = dtype_abbrs.get(str(value.dtype).removeprefix("torch."), str(value.dtype))
    return f"{short}[{', '.join(str(size) for size in value.shape)}]"
