"""Programs as lists of nodes (`torch.fx.Graph`): build them by tracing or manually, read, change
and check them, and turn them into code.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import warn
from ._codegen import (
    CodeGen,
    PythonCode,
    TransformCodeFunc,
    _BoxedCodeGen,
    _format_target,
    _is_from_torch,
    _parse_stack_trace,
    _ParsedStackTrace,
    _PyTreeCodeGen,
    _PyTreeInfo,
    inplace_methods,
    magic_methods,
    named,
    reflectable_magic_methods,
)
from ._compatibility import compatibility
from ._namespace import (
    _custom_builtins,
    _is_magic,
    _Namespace,
    _register_custom_builtin,
    _snake_case,
)
from .node import (
    Argument,
    Node,
    Target,
    _get_qualified_name,
    _nodes_in,
    _type_repr,
    _typename,
    map_arg,
)

__all__ = ["CodeGen", "Graph", "PythonCode"]

# names that PyTorch has here
_EXTRA = (
    _BoxedCodeGen,
    _PyTreeCodeGen,
    _PyTreeInfo,
    _custom_builtins,
    _format_target,
    _get_qualified_name,
    _is_from_torch,
    _parse_stack_trace,
    _ParsedStackTrace,
    _register_custom_builtin,
    _type_repr,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)


class _InsertPoint:
    """Where nodes are put from here on; as a context manager, until the block ends."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.orig_insert


class _node_list:  # noqa: N801 (PyTorch's name)
    """The nodes of a graph, in order; what happens to the graph shows, also while they are gone
    through.
    """

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node: Node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Node]:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


@compatibility(is_backward_compatible=True)
class Graph:
    """A program: inputs, attributes, calls and a result, in the order in which they happen.

    Args:
        owning_module: the module whose attributes and submodules the nodes name.
        tracer_cls: the class of the tracer that made it, so that copies can be traced again.
        tracer_extras: arguments for that tracer's `trace`.

    >>> import pellucid as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> _ = graph.output(graph.call_method("neg", (y,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        %neg : [num_users=1] = call_method[target=neg](args = (%relu,), kwargs = {})
        return neg
    >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.tensor([1.0, -1.0]))
    tensor([-1., -0.])
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen: CodeGen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._ordered = True

    # -- the list ----------------------------------------------------------------------------------
    @property
    def owning_module(self) -> Any:
        """The module whose graph it is."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes in order; `reversed(graph.nodes)` gives them from the last."""
        return _node_list(self)

    def _moved(self) -> None:
        self._ordered = False

    def _place_of(self, node: Node) -> int:
        if not self._ordered:
            for place, other in enumerate(self.nodes):
                other._sort_key = place
            self._ordered = True
        return node._sort_key

    def _hooks(self, name: str) -> Iterable[Callable[..., Any]]:
        return getattr(self._owning_module, name, ())

    def output_node(self) -> Node:
        """The node of the result."""
        found = next(reversed(self.nodes))
        if found.op != "output":
            raise AssertionError(f"Expected output node, got op={found.op}")
        return found

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, in order; for "call_function", those that call `target`.

        Raises:
            AssertionError: "call_function" without a target.
        """
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [
            node
            for node in self.nodes
            if node.op == op and (target is None or node.target == target)
        ]

    # -- new nodes ---------------------------------------------------------------------------------
    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insert point; the other methods that make nodes call this one.

        Args:
            op, target, args, kwargs: as in `Node`.
            name: what to call it; a number is appended when the name is taken. By default, from the
                target.
            type_expr: the annotation of the result.

        Raises:
            AssertionError: no such `op`; `args` is no tuple, `kwargs` no dictionary.
            ValueError: a target of the wrong kind.
        """
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        unique = self._graph_namespace.create_name(
            name if name is not None else self._target_to_str(target), None
        )
        node = Node(self, unique, op, target, args, kwargs, type_expr)
        for hook in self._hooks("_create_node_hooks"):
            hook(node)
        self._graph_namespace.associate_name_with_obj(unique, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target | None) -> str:
        name = target.__name__ if callable(target) else target
        if not isinstance(name, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        return _snake_case(name[2:-2] if _is_magic(name) else name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input; `name` may begin with one or two stars. Without `default_value` it must be
        given.
        """
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module, such as a parameter, by its dotted name."""
        if self._owning_module is not None and not _reaches(self._owning_module, qualified_name):
            warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                "Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add "
                "the necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a submodule, by its dotted name."""
        if self._owning_module is not None and not _is_submodule(self._owning_module, module_name):
            warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! "
                "Call GraphModule.add_submodule to add the necessary submodule",
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name=name, type_expr=type_expr
        )

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The result of the program."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """A copy of a node of another graph.

        Args:
            node: the node to copy.
            arg_transform: gives for each node in its arguments the one of this graph.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy the nodes of another graph, all but its result.

        Args:
            g: the graph to copy from.
            val_map: nodes of `g` with the nodes of this graph that stand for them; the copies are
                added.
            return_output_node: return the node of `g`'s result, too.

        Returns:
            What this graph would return to give `g`'s result, or None when it has none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        copied = made.graph_copy(self, val_map={}, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        made._co_fields = dict(self._co_fields)
        if copied is not None:
            result, old = copied
            new = made.output(result, type_expr=getattr(old, "type", None))
            new.meta = copy.copy(old.meta)
        return made

    def __reduce__(self) -> Any:
        number = {node: at for at, node in enumerate(self.nodes)}
        rows = [
            (node.op, node.name, node.target, map_arg(node.args, lambda n: _Place(number[n])),
             map_arg(node.kwargs, lambda n: _Place(number[n])), node.type, node.meta)
            for node in self.nodes
        ]  # fmt: skip
        return _graph_of, (rows, self._tracer_cls, self._codegen)

    # -- where, and what goes
    # ------------------------------------------------------------------------
    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes stand before `n` (None: at the beginning); in a `with` block, until it ends.

        Raises:
            AssertionError: `n` is of another graph.
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes stand right after `n` (None: at the end); in a `with` block, until it ends.

        Raises:
            AssertionError: `n` is of another graph.
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take out a node that nobody uses.

        Raises:
            RuntimeError: it has users, or is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warn(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in self._hooks("_erase_node_hooks"):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase.args = ()
        to_erase.kwargs = {}

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out the nodes whose results nobody uses and that do nothing else; whether there were
        any.

        Args:
            is_impure_node: which nodes do something; by default `Node.is_impure`.
        """
        self.lint()
        impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    # -- code
    # ----------------------------------------------------------------------------------------
    def process_inputs(self, *args: Any) -> Any:
        """The values of the inputs from the arguments of the function that the code is."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the function returns, from the value of the result."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have another object make the code."""
        self._codegen = codegen

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
    ) -> PythonCode:
        """The code of the graph, as a function `forward`.

        Args:
            root_module: the variable that attributes and submodules are looked up on ("self").
            verbose: add comments with the places that nodes come from, and what is known of their
                values.
            include_stride, include_device: show strides and devices of tensors there.
            colored, expanded_def, record_func: accepted; the code is the same.
        """
        namespace = _Namespace()
        with named(self, namespace):
            return self._python_code(
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
            )

    def _python_code(self, root_module: str, namespace: _Namespace, **options: Any) -> PythonCode:
        return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)

    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> contextlib.AbstractContextManager[None]:
        """Have a function change the lines of the code before they are put together.

        Args:
            make_transformer: called with the function that does so by now, or None; returns the new
                one, which takes and returns a list of lines.

        Returns:
            A context manager: at the end of its block the earlier function is back.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def block() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return block()

    # -- words
    # ---------------------------------------------------------------------------------------
    def __str__(self) -> str:
        return "\n    ".join(
            ["graph():", *(line for node in self.nodes if (line := node.format_node()) is not None)]
        )

    def print_tabular(self) -> None:
        """Print the nodes as a table, a node a line. Needs the package `tabulate`."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. "
                "Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    # -- checks
    # --------------------------------------------------------------------------------------
    def lint(self) -> None:
        """Check that the graph is whole: names are unique, nodes are used after they are made,
        targets exist.

        Raises:
            RuntimeError: it is not.
            ValueError: a target of the wrong kind.
        """
        defined: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in (*_nodes_in(node.args), *_nodes_in(node.kwargs)):
                where = f" of Node '{node}' "
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}'{where}does not belong to this Graph, but was used as an argument! If you are copying "
                        f"nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n{self}"
                    )
                if used not in defined:
                    raise RuntimeError(
                        f"Argument '{used}'{where}was used before it has been defined! Please check that Nodes in the graph "
                        f"are topologically ordered\n{self}"
                    )
            defined.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            self._check_target(node)

    def _check_target(self, node: Node) -> None:
        expected = "Callable" if node.op == "call_function" else "str"
        if not (
            callable(node.target) if node.op == "call_function" else isinstance(node.target, str)
        ):
            raise ValueError(
                f"Node {node} target {node.target} has type {_typename(node.target)} but a {expected} is expected"
            )
        if self._owning_module is None or node.op not in ("get_attr", "call_module"):
            return
        from ..nn import Module

        thing: Any = self._owning_module
        atoms = str(node.target).split(".")
        for at, atom in enumerate(atoms):
            seen = ".".join(atoms[:at])
            if not hasattr(thing, atom):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {atom} of {seen}"
                )
            thing = getattr(thing, atom)
            last = at == len(atoms) - 1
            if node.op == "call_module" and not isinstance(thing, Module):
                raise RuntimeError(
                    f"Node {node} target {node.target} {atom} of {seen} does not reference an nn.Module"
                )
            if node.op == "get_attr" and last and thing is None:
                warn(f"Node {node} target {node.target} is None")

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users.clear()
            self.erase_node(node)


class _Place:
    """A node in a pickled graph, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


def _graph_of(rows: list[tuple[Any, ...]], tracer_cls: Any, codegen: CodeGen) -> Graph:
    """A graph from the rows that `Graph.__reduce__` gives."""
    from .node import map_aggregate

    graph = Graph(tracer_cls=tracer_cls)
    graph._codegen = codegen
    made: list[Node] = []
    fill = lambda a: made[a.number] if isinstance(a, _Place) else a
    for op, name, target, args, kwargs, kind, meta in rows:
        node = graph.create_node(
            op, target, map_aggregate(args, fill), map_aggregate(kwargs, fill), name, kind
        )
        node.meta = meta
        made.append(node)
    return graph


def _reaches(module: Any, name: str) -> bool:
    """Whether a dotted name leads to a parameter, a buffer or a submodule."""
    from ..nn import Module, Parameter

    path, _, last = name.rpartition(".")
    try:
        owner = module.get_submodule(path)
    except AttributeError:
        warn(f"Failed to fetch module {path}!")
        return False
    if not hasattr(owner, last):
        return False
    value = getattr(owner, last)
    return isinstance(value, (Module, Parameter)) or last in owner._buffers


def _is_submodule(module: Any, name: str) -> bool:
    try:
        return module.get_submodule(name) is not None
    except AttributeError:
        return False
