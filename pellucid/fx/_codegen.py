"""Python code from a graph (`torch.fx.graph.CodeGen`).

The text is a function `forward` whose lines are the nodes, in order; a variable is set to None
after its last use, which frees its memory. The text calls functions by PyTorch's names;
everything else it needs is in `globals`.
"""

from __future__ import annotations

import contextlib
import enum
import re
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._pytree import tree_flatten, tree_unflatten
from ..api.origins import torch_name
from ..api.symbols import SymInt
from ..core.tensor import Tensor
from ._compatibility import compatibility
from ._namespace import _custom_builtins, _Namespace
from .node import Node, _get_qualified_name, _type_repr, dtype_abbrs, map_arg

TransformCodeFunc = Callable[[list[str]], list[str]]

magic_methods = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}
reflectable_magic_methods = {
    name: magic_methods[name]
    for name in (
        "add",
        "sub",
        "mul",
        "floordiv",
        "truediv",
        "div",
        "mod",
        "pow",
        "lshift",
        "rshift",
        "and_",
        "or_",
        "xor",
        "getitem",
        "matmul",
    )
}
inplace_methods = {
    "iadd": "{} += {}",
    "iand": "{} &= {}",
    "ifloordiv": "{} //= {}",
    "ilshift": "{} <<= {}",
    "imod": "{} %= {}",
    "imul": "{} *= {}",
    "imatmul": "{} @= {}",
    "ior": "{} |= {}",
    "ipow": "{} **= {}",
    "irshift": "{} >>= {}",
    "isub": "{} -= {}",
    "itruediv": "{} /= {}",
    "ixor": "{} ^= {}",
    "setitem": "{}[{}] = {}",
}

_GENERIC = {list: "List", dict: "Dict", set: "Set", frozenset: "FrozenSet", tuple: "Tuple"}


@compatibility(is_backward_compatible=True)
@dataclass
class PythonCode:
    """Code made from a graph.

    Attributes:
        src: the text: a function `forward`.
        globals: what the text needs to run, by name.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0
    fn_args: list[str] = field(default_factory=list)


def _is_from_torch(obj: Any) -> bool:
    return torch_name(obj) is not None


def _format_target(base: str, target: str) -> str:
    """`base.a.b`, with `getattr` where a part is no identifier."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class _Writer:
    """The lines of one function while they are made."""

    def __init__(
        self,
        codegen: CodeGen,
        namespace: _Namespace,
        root: str,
        verbose: bool,
        options: dict[str, bool],
    ) -> None:
        self.codegen = codegen
        self.names = namespace
        self.root = root
        self.verbose = verbose
        self.options = options
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.result = ""
        self.said = ""  # the last comment
        for name, (_, thing) in _custom_builtins.items():
            self.add_global(name, thing, True)

    def add_global(self, hint: str, thing: Any, builtin: bool = False) -> str:
        """The name under which the code finds an object."""
        if not builtin and _is_from_torch(thing) and thing is not _custom_builtins["device"].obj:
            return _get_qualified_name(thing)
        name = self.names.create_name(hint, thing)
        if self.globals.get(name, thing) is not thing:
            raise AssertionError(f"Global name {name} already assigned to different object")
        self.globals[name] = thing
        return name

    def type_text(self, kind: Any) -> str:
        """An annotation, in names that the code knows."""
        if kind == ():
            return "()"
        if isinstance(kind, types.UnionType):
            return "|".join(self.type_text(part) for part in kind.__args__)
        if not hasattr(kind, "__origin__"):
            return self.add_global(_type_repr(kind), kind)
        import typing

        base = kind.__origin__
        base = (
            getattr(typing, _GENERIC[base])
            if base in _GENERIC and not isinstance(kind, types.GenericAlias)
            else base
        )
        name = self.add_global(_type_repr(base), base)
        inner = getattr(kind, "__args__", ())
        return f"{name}[{','.join(self.type_text(part) for part in inner)}]" if inner else name

    def text(self, value: Any) -> str:
        """An argument as code."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            kind = type(value)
            return f"{self.add_global(_get_qualified_name(kind), kind)}({', '.join(self.text(item) for item in value)})"
        if isinstance(value, enum.Enum):
            return f"{self.add_global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, Tensor):
            return (
                f"torch.Tensor(size={list(value.shape)}, dtype={str(value.dtype).split('.')[-1]})"
            )
        if type(value) is tuple:
            return (
                f"({', '.join(self.text(item) for item in value)}{',' if len(value) == 1 else ''})"
            )
        if isinstance(value, list):
            return f"[{', '.join(self.text(item) for item in value)}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self.text(item)}' for key, item in value.items())}}}"
        if isinstance(value, slice):
            return (
                f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
            )
        if callable(value) and not isinstance(value, (Node, type)) and hasattr(value, "__name__"):
            return (
                self.add_global(_get_qualified_name(value), value)
                if _is_from_torch(value)
                else repr(value)
            )
        if isinstance(value, type) and value is not type(None):
            return self.add_global(_type_repr(value), value)
        return repr(value)

    def call(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join(
            [
                *(self.text(value) for value in args),
                *(f"{name} = {self.text(value)}" for name, value in kwargs.items()),
            ]
        )

    def emit(self, node: Node) -> None:
        if self.verbose:
            self._comment(node)
        note = f" : {self.type_text(node.type)}" if node.type is not None else self._data_note(node)
        getattr(self, f"_{node.op}")(node, note)

    def _placeholder(self, node: Node, note: str) -> None:
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{note}{default}")
        raw = str(node.target).replace("*", "")
        if raw != repr(node):
            self.lines.append(f"{node!r} = {raw}\n")

    def _get_attr(self, node: Node, note: str) -> None:
        self.lines.append(f"{node!r}{note} = {_format_target(self.root, str(node.target))}")

    def _call_module(self, node: Node, note: str) -> None:
        self.lines.append(
            f"{node!r}{note} = {_format_target(self.root, str(node.target))}({self.call(node.args, node.kwargs)})"
        )

    def _call_method(self, node: Node, note: str) -> None:
        target = _format_target(self.text(node.args[0]), str(node.target))
        self.lines.append(f"{node!r}{note} = {target}({self.call(node.args[1:], node.kwargs)})")

    def _call_function(self, node: Node, note: str) -> None:
        target: Any = node.target
        if getattr(target, "__module__", None) == "_operator":
            if target.__name__ in magic_methods and not node.kwargs:
                self.lines.append(
                    f"{node!r}{note} = {magic_methods[target.__name__].format(*map(self.text, node.args))}"
                )
                return
            if target.__name__ in inplace_methods:
                text = inplace_methods[target.__name__].format(*map(self.text, node.args))
                self.lines.append(f"{text};  {node!r}{note} = {self.text(node.args[0])}")
                return
        name = self.add_global(_get_qualified_name(target), target)
        if (
            name == "getattr"
            and len(node.args) == 2
            and isinstance(node.args[1], str)
            and node.args[1].isidentifier()
        ):
            self.lines.append(
                f"{node!r}{note} = {_format_target(self.text(node.args[0]), node.args[1])}"
            )
            return
        self.lines.append(f"{node!r}{note} = {name}({self.call(node.args, node.kwargs)})")
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)

    def _output(self, node: Node, note: str) -> None:
        if node.type is not None:
            self.result = f" -> {self.type_text(node.type)}"
        self.lines.append(self.codegen.generate_output(_Text(self.text(node.args[0]))))

    # -- readable code -----------------------------------------------------------------------------
    def _comment(self, node: Node) -> None:
        """A line that says where the node comes from, when that is another place than the last
        node's.
        """
        if node.op in ("placeholder", "output"):
            return
        parsed = _parse_stack_trace(node.stack_trace) if node.stack_trace else None
        said = parsed.get_summary_str() if parsed else "No stacktrace found for following nodes"
        if said != self.said:
            self.said = said
            blank = "" if all(line.startswith("# COUNTER") for line in self.lines) else "\n"
            self.lines.append(f"{blank}# {said}\n")

    def _data_note(self, node: Node) -> str:
        if not self.verbose:
            return ""
        value: Any = node.meta.get(
            "val", node.meta.get("tensor_meta", node.meta.get("example_value"))
        )
        if isinstance(value, SymInt):
            return f': "Sym({value})"'
        if not (hasattr(value, "dtype") and hasattr(value, "shape")):
            return ""
        short = dtype_abbrs.get(str(value.dtype).removeprefix("torch."), str(value.dtype))
        text = f"{short}[{', '.join(str(size) for size in value.shape)}]"
        if self.options.get("include_stride"):
            strides = value.stride() if callable(getattr(value, "stride", None)) else value.stride
            text += f"[{', '.join(str(step) for step in strides)}]"
        if self.options.get("include_device") and getattr(value, "device", None) is not None:
            text += str(value.device)
        return f': "{text}"'


class _Text(str):
    """Code that shows itself as it is where somebody asks for its `repr`."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class _ParsedStackTrace:
    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


def _parse_stack_trace(stack_trace: str) -> _ParsedStackTrace | None:
    """The innermost frame of a stack's text."""
    lines = stack_trace.strip().split("\n")
    for at in range(len(lines) - 2, -1, -1):
        match = re.match(r'^File "(.+)", line (\d+), in (.+)$', lines[at].strip())
        if match:
            return _ParsedStackTrace(match[1], match[2], match[3], lines[at + 1].strip())
    return None


@compatibility(is_backward_compatible=False)
class CodeGen:
    """How a graph becomes a function; subclasses change its head, its inputs and its result.

    >>> import pellucid as torch
    >>> class Pair(torch.fx.CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
    ...         return f"def forward(self, pair):\\n    {', '.join(free_vars)} = pair"
    ...     def process_inputs(self, *args):
    ...         return args[0]
    >>> gm = torch.fx.symbolic_trace(lambda x, y: x + y)
    >>> gm.graph.set_codegen(Pair())
    >>> _ = gm.recompile()
    >>> gm((1, 2))
    3
    """

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head of the function; `free_vars` are the graph's inputs with annotations and
        defaults.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The last line."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the graph's inputs from the function's arguments."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, from the graph's result."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code of a subclass needs, with what they stand for."""
        return []

    def _gen_python_code(
        self,
        nodes: Iterable[Node],
        root_module: str,
        namespace: _Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
    ) -> PythonCode:
        options = {"include_stride": include_stride, "include_device": include_device}
        writer = _Writer(self, namespace, root_module, verbose, options)
        for name, thing in self.additional_globals():
            writer.add_global(name, thing)
        steps = list(nodes)
        last = _last_uses(steps)
        for at, node in enumerate(steps):
            # tells which node the next lines are for, whatever is done to them
            writer.lines.append(f"# COUNTER: {at}\n")
            writer.emit(node)
            if node.op == "placeholder":
                continue
            if node.op == "output":
                writer.lines.append("\n")
                continue
            done = [*last.get(node, ()), *(() if node.users else (node,))]
            writer.lines.append(f";  {' = '.join([*map(repr, done), 'None'])}\n" if done else "\n")
        lines = writer.lines or ["pass\n"]
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        head = f"\n{wraps}\n\n{self.gen_fn_def(writer.parameters, writer.result)}\n"
        body, numbers = _counted("".join(lines), head.count("\n") + 1)
        return PythonCode(
            head + "\n".join("    " + line for line in body),
            writer.globals,
            numbers,
            head.count("\n") + 1,
        )


def _counted(text: str, start: int) -> tuple[list[str], dict[int, int | None]]:
    """The lines of a body without their counters, and for each line of the whole code the number of
    its node.
    """
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    current = None
    for line in text.split("\n"):
        match = re.fullmatch(r"# COUNTER: (\d+)", line)
        if match:
            current = int(match[1])
        else:
            numbers[start + len(lines)] = current
            lines.append(line)
    return lines, numbers


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """For each node those that nobody uses after it."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for user in reversed(nodes):

        def note(used: Node, user: Node = user) -> Node:
            if used not in seen:
                seen.add(used)
                last.setdefault(user, []).append(used)
            return used

        map_arg(user.args, note)
        map_arg(user.kwargs, note)
    return last


class _BoxedCodeGen(CodeGen):
    """Code whose arguments come as one list, which it empties, so that the caller holds none of
    them.
    """

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = [name.split(" ")[0].split(":")[0] for name in free_vars]
        head = f"def {self._func_name}(self, args_list){maybe_return_annotation}:"
        if not names:
            return head + "\n    args_list.clear()"
        return head + f"\n    {', '.join(names)}, = args_list\n    args_list.clear()"


class _PyTreeInfo(NamedTuple):
    """What the code's function takes and gives: names of arguments, the structure of both."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Code of a function whose arguments or result are containers; the graph sees their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return tree_flatten(list(inputs))[0]

    def process_outputs(self, out: Any) -> Any:
        if not isinstance(out, (list, tuple)):
            out = [out]
        return (
            tree_unflatten(out, self.pytree_info.out_spec)
            if self.pytree_info.out_spec is not None
            else out
        )

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        arguments = self.pytree_info.orig_args
        own = bool(arguments) and arguments[0] == "self"
        if own:
            free_vars.insert(0, "self")
        text = super().gen_fn_def(arguments[:], maybe_return_annotation)
        if len(free_vars) > (1 if own else 0):
            names = [name.split(":")[0].split(" ")[0] for name in free_vars]
            annotated = [f"{name}; " for name in free_vars if ":" in name]
            if annotated:
                text += "\n    " + "".join(annotated) + "\n"
            elif free_vars:
                text += "\n"
            text += self._bindings(arguments, names)
        return text

    def _bindings(self, arguments: list[str], names: list[str]) -> str:
        spec = self.pytree_info.in_spec
        by_name = spec.type is tuple and spec.num_children == 2 and spec.child(1).type is dict
        if by_name:
            count = spec.child(0).num_children
            pairs = ", ".join(f"'{name}':{name}" for name in arguments[count:])
            whole = f"([{', '.join(arguments[:count])}], {{{pairs}}})"
        else:
            whole = f"[{', '.join(arguments)}]"
        return f"    {', '.join(names)}, = fx_pytree.tree_flatten_spec({whole}, self._in_spec)"

    def generate_output(self, output_args: Any) -> str:
        if self.pytree_info is not None and self.pytree_info.out_spec is not None:
            return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"
        return super().generate_output(output_args)


@contextlib.contextmanager
def named(graph: Any, namespace: _Namespace) -> Iterator[None]:
    """Nodes go by their names in the code that is made."""
    show = lambda node: namespace.create_name(node.name, node)
    before = {node: node._repr_fn for node in graph.nodes}
    try:
        for node in before:
            node._repr_fn = show
        yield
    finally:
        for node, own in before.items():
            node._repr_fn = own
