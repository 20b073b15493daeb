"""Run graphs node by node (`torch.fx.Interpreter`), or on proxies to make new graphs
(`Transformer`).
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from ..core.tensor import Tensor
from ..nn import Module
from . import traceback as fx_traceback
from ._compatibility import compatibility
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]

_ADVICE = "Use tlparse to see full graph. (https://github.com/pytorch/tlparse?tab=readme-ov-file#tlparse-parse-structured-pt2-logs)"


@compatibility(is_backward_compatible=True)
class Interpreter:
    """Runs a graph node by node. Override a method to do something else with nodes of that kind.

    Args:
        module: the module whose graph is run; attributes and submodules are looked up on it.
        garbage_collect_values: forget a value after its last use.
        graph: the graph, where it is not `module.graph`.

    >>> import pellucid as torch
    >>> class Count(torch.fx.Interpreter):
    ...     calls = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counter = Count(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1))
    >>> counter.run(torch.tensor([1.0, -1.0])), counter.calls
    (tensor([2., 1.]), 2)
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            from ._codegen import _last_uses

            self.user_to_last_uses = _last_uses(list(self.graph.nodes))

    @compatibility(is_backward_compatible=True)
    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph.

        Args:
            *args: values of its inputs, in order.
            initial_env: values of nodes that are known already and are not run.
            enable_io_processing: take and give containers where the graph's code does.

        Returns:
            What the graph returns.
        """
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    said = f"While executing {node.format_node()}"
                    said = f"{error.args[0]}\n\n{said}" if error.args else str(said)
                    said += f"\nOriginal traceback:\n{node.stack_trace}\n{_ADVICE}"
                    error.args = (said, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            if self.garbage_collect_values:
                for done in self.user_to_last_uses.get(node, ()):
                    self.env.pop(done, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    @compatibility(is_backward_compatible=True)
    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on the values of a list, which is emptied first, so that nobody holds them.

        Raises:
            RuntimeError: not as many values as inputs.
        """
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(placeholders):
            more = "extra arguments" if len(args_list) > len(placeholders) else "missing arguments"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(placeholders)} arguments for placeholders but received {len(args_list)} ({more})"
            )
        env = dict(zip(placeholders, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    @contextlib.contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    @compatibility(is_backward_compatible=True)
    def run_node(self, n: Node) -> Any:
        """The value of a node: calls the method for its kind with its target, arguments and keyword
        arguments.
        """
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    @compatibility(is_backward_compatible=True)
    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The next argument of `run`, or the input's default.

        Raises:
            RuntimeError: there is neither.
        """
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration as end:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from end

    @compatibility(is_backward_compatible=True)
    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The attribute of the module with this dotted name."""
        return self.fetch_attr(str(target))

    @compatibility(is_backward_compatible=True)
    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`target(*args, **kwargs)`."""
        if isinstance(target, str):
            raise AssertionError("target should not be a string for call_function")
        return target(*args, **kwargs)

    @compatibility(is_backward_compatible=True)
    def call_method(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The method of the first argument, called with the others."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    @compatibility(is_backward_compatible=True)
    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The submodule with this dotted name, called."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    @compatibility(is_backward_compatible=True)
    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The first argument, which is the result."""
        return args[0]

    @compatibility(is_backward_compatible=True)
    def fetch_attr(self, target: str) -> Any:
        """The attribute of the module with a dotted name.

        Raises:
            RuntimeError: there is none.
        """
        value: Any = self.module
        atoms = target.split(".")
        for at, atom in enumerate(atoms):
            if not hasattr(value, atom):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(atoms[: at + 1])}"
                )
            value = getattr(value, atom)
        return value

    @compatibility(is_backward_compatible=True)
    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        if not isinstance(args, tuple):
            raise AssertionError(f"Expected args to be tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"Expected kwargs to be dict, got {type(kwargs)}")
        return args, kwargs

    @compatibility(is_backward_compatible=True)
    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """The arguments with the value of each node in its place.

        Raises:
            RuntimeError: a node that has not been run.
        """

        def load(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[used]

        return map_arg(args, load)


@compatibility(is_backward_compatible=True)
class Transformer(Interpreter):
    """Runs a graph on proxies: a new module comes out, with what the overridden methods make of
    each node.

    Args:
        module: the module whose graph is run.

    >>> import pellucid as torch
    >>> class Swap(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)
    >>> print(Swap(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)).transform().code.strip())
    def forward(self, x):
        tanh = torch.tanh(x);  x = None
        add = tanh + 1;  tanh = None
        return add
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs: dict[Tensor, str] = {}

            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    @compatibility(is_backward_compatible=True)
    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Proxy:
        """An input of the new graph."""
        default = next(iter(args)) if args else inspect.Signature.empty
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        given = () if default is inspect.Signature.empty else (default,)
        return Proxy(self.new_graph.create_node("placeholder", target, given), self.tracer)

    @compatibility(is_backward_compatible=True)
    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """A node that reads the attribute."""
        return self.tracer.create_proxy("get_attr", str(target), args, kwargs)

    @compatibility(is_backward_compatible=True)
    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of the submodule, as one node."""
        submodule = self.fetch_attr(str(target))
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    @compatibility(is_backward_compatible=True)
    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of the function, as one node."""
        if not callable(target):
            raise AssertionError(f"Expected callable target, got {type(target)}")
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    @compatibility(is_backward_compatible=True)
    def transform(self) -> GraphModule:
        """Run the graph and return the new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            strip = lambda a: a.node if isinstance(a, Proxy) else a
            old = self.module.graph.output_node()
            self.new_graph.output(map_aggregate(result, strip), type_expr=old.type).meta.update(
                old.meta
            )
        return GraphModule(self.module, self.new_graph)
