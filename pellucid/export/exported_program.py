"""Exported programs: a graph of operators with its parameters, buffers and constants
(`torch.export.exported_program`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._pytree import tree_flatten
from ..arrays.meta import MetaArray
from ..aten.fake import FakeTensorMode
from ..core.tensor import Parameter, Tensor, make_tensor
from ..devices import device
from ..errors import OperationError, UnsupportedError
from ..fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn import Module
from .capture import Seen, State
from .decomp_utils import CustomDecompTable
from .dynamic_shapes import Axis, Dynamic
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from .sizes import Symbol, ValueRanges
from .trace import Traced, trace

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


@dataclass
class ModuleCallSignature:
    """The inputs and outputs of a call of a module in the original program."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node: Any, new_node: Any) -> None:
        """Another node's name wherever a node is named."""
        for arg in (*self.inputs, *self.outputs):
            if arg.name == original_node.name:
                arg.name = new_node.name


@dataclass
class ModuleCallEntry:
    """A module of the original program by its path, with the signature of its call."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass
class CallSpec:
    """The structure of the arguments and of the result."""

    in_spec: Any
    out_spec: Any


@dataclass
class CallSignature:
    """How a program is called.

    Attributes:
        in_spec: the structure of (args, kwargs).
        out_spec: the structure of the result.
        names: the names of the arguments, positional ones first.
        axes: by the number of the input leaf, by dimension, how its size follows from a symbol.
    """

    in_spec: Any
    out_spec: Any
    names: list[str]
    axes: dict[int, dict[int, Axis]] = field(default_factory=dict)


class ExportedProgram:
    """What `torch.export.export` returns.

    >>> import pellucid as torch
    >>> class Twice(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> program = torch.export.export(Twice(), (torch.ones(3),))
    >>> [str(node.target) for node in program.graph.nodes]
    ['x', 'aten.mul.Tensor', 'output']
    >>> program.module()(torch.ones(3))
    tensor([2., 2., 2.])
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Tensor],
        range_constraints: dict[Any, Any],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: Any = None,
        constants: dict[str, Tensor] | None = None,
        *,
        call: CallSignature,
        transient: dict[str, Tensor] | None = None,
    ) -> None:
        self._graph_module = GraphModule(Module() if root is None else root, graph)
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._range_constraints = range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._constants = {**(constants or {}), **(transient or {})}
        self._call = call

    # -- parts -----------------------------------------------------------------------------------
    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module whose arguments are parameters, buffers, constants and inputs."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the inputs and outputs of the graph stand for."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by their names in the module."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Tensor]:
        """Tensors that are neither parameters nor persistent buffers, by name."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """The dynamic sizes, each with its smallest and largest value."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The modules of the original program."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> Any:
        """The arguments that the program was exported with: a tuple and a dict."""
        return self._example_inputs

    @property
    def call_spec(self) -> CallSpec:
        """The structure of the arguments and of the result."""
        return CallSpec(self._call.in_spec, self._call.out_spec)

    @property
    def verifiers(self) -> list[Any]:
        """The classes that check the graph in PyTorch: none, `validate` does."""
        return []

    @property
    def dialect(self) -> str:
        """Which operators the graph is made of: "TRAINING", before they are taken apart."""
        return "TRAINING"

    def parameters(self) -> Iterator[Tensor]:
        """The parameters."""
        return (tensor for _, tensor in self.named_parameters())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters with their names in the module."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (tensor for _, tensor in self.named_buffers())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names in the module."""
        return ((name, self._value(name)) for name in self.graph_signature.buffers)

    def _value(self, target: str) -> Tensor:
        found = self.state_dict.get(target)
        return self.constants[target] if found is None else found

    # -- running it ------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise OperationError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def module(self, check_guards: bool = True) -> GraphModule:
        """The program as a module with the original's parameters and buffers; gradients flow to
        the parameters.

        Args:
            check_guards: compare sizes and numbers among the arguments with those of the export.
        """
        return _module(self, check_guards)

    def run_decompositions(
        self,
        decomp_table: dict[Any, Callable[..., Any]] | None = None,
        decompose_custom_triton_ops: bool = False,
    ) -> ExportedProgram:
        """The program with its operators taken apart.

        Args:
            decomp_table: {operator: a function that stands for it}, as
                `default_decompositions()` gives it. Operators that PyTorch composes of others are
                taken apart in any case.

        """
        return _decomposed(self, decomp_table or {})

    def validate(self) -> None:
        """Check the graph.

        Raises:
            RuntimeError: it is not well formed.
        """
        self.graph.lint()

    _validate = validate

    def __str__(self) -> str:
        body = self._graph_module.print_readable(print_output=False).rstrip() + "\n"
        lines = [f"ExportedProgram:\n{body}", f"Graph signature: {self.graph_signature}"]
        text = "\n".join(lines).replace("\n", "\n    ")
        text = text.replace("\n    Graph signature", "\nGraph signature")
        return f"{text}\nRange constraints: {self.range_constraints}\n"

    __repr__ = __str__


def program_of(
    traced: Traced, state: Any, call: CallSignature, module_paths: list[str], example: Any
) -> ExportedProgram:
    """The exported program of a traced graph."""
    recording = traced.recording
    graph = recording.graph
    describe(graph, traced)
    targets = list(state.parameters) + list(state.buffers)
    specs: list[InputSpec] = []
    leaves = tree_flatten(example)[0]
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        name = node.name
        if name in recording.constants:
            specs.append(
                InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name), recording.targets[name])
            )
        elif node in recording.inputs:
            leaf = leaves[recording.inputs.index(node)]
            arg: Any = (
                TensorArgument(name) if isinstance(leaf, Tensor) else ConstantArgument(name, leaf)
            )
            specs.append(InputSpec(InputKind.USER_INPUT, arg, None))
        else:
            target = targets.pop(0)
            if target in state.parameters:
                specs.append(InputSpec(InputKind.PARAMETER, TensorArgument(name), target))
            else:
                kept = target not in state.transient
                specs.append(InputSpec(InputKind.BUFFER, TensorArgument(name), target, kept))
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, argument_of(r), None) for r in recording.results]
    lasting = {n: t for n, t in state.buffers.items() if n not in state.transient}
    transient = {n: t for n, t in state.buffers.items() if n in state.transient}
    signature = ModuleCallSignature([], [], call.in_spec, call.out_spec, call.names)
    return ExportedProgram(
        None,
        graph,
        ExportGraphSignature(specs, outputs),
        OrderedDict({**state.parameters, **lasting}),
        dict(traced.ranges),
        [ModuleCallEntry("", signature), *[ModuleCallEntry(path) for path in module_paths]],
        example,
        {recording.targets[n]: t for n, t in recording.constants.items()},
        call=call,
        transient=transient,
    )


def argument_of(result: Any) -> Any:
    """How a signature names a result."""
    if not isinstance(result, Node):
        return ConstantArgument("", result)
    number = isinstance(result.meta.get("val"), (int, float, Symbol))
    return SymIntArgument(result.name) if number else TensorArgument(result.name)


def describe(graph: Graph, traced: Traced) -> None:
    """Give each node the fake tensor of its shape."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    known: dict[str, Any] = {}
    for node in graph.nodes:
        seen = traced.recording.seen.get(node.name)
        if isinstance(seen, Seen):
            node.meta["val"] = known[node.name] = fake(mode, seen, traced.shapes[node.name])
        elif seen is not None:
            whole = isinstance(seen, int)
            node.meta["val"] = Symbol(f"u{len(known)}", seen) if whole else seen


def fake(mode: FakeTensorMode, seen: Seen, shape: tuple[Any, ...]) -> Any:
    """A fake tensor of a shape that may have symbols."""
    kind = np.dtype(seen.dtype.numpy)
    strides = tuple([s * kind.itemsize for s in seen.strides])
    made = mode._made(make_tensor(MetaArray(seen.shape, kind, strides)), device("cpu"))
    made._rg = seen.requires_grad
    if any(isinstance(n, Symbol) for n in shape):
        made.symbolic = shape
    return made


# ---- modules -----------------------------------------------------------------------------------
class GuardsFn(Module):
    """Compares the sizes of the inputs, and the numbers among them, with those of the export."""

    def __init__(self, checks: list[tuple[str, Callable[..., bool]]]) -> None:
        super().__init__()
        self._checks = checks

    def forward(self, *leaves: Any) -> None:
        """Check the leaves of the arguments.

        Raises:
            AssertionError: one differs.
        """
        for text, holds in self._checks:
            if not holds(*leaves):
                raise AssertionError(f"Guard failed: {text}")


def _checks(program: ExportedProgram) -> list[tuple[str, Callable[..., bool]]]:
    made: list[tuple[str, Callable[..., bool]]] = []
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    specs = program.graph_signature.input_specs
    own = [(n, s) for n, s in zip(nodes, specs, strict=True) if s.kind is InputKind.USER_INPUT]
    sources: dict[str, tuple[int, int, Axis, str]] = {}
    limits = {str(symbol): ranges for symbol, ranges in program.range_constraints.items()}
    for k, (node, spec) in enumerate(own):
        if isinstance(spec.arg, ConstantArgument):
            value = spec.arg.value
            if value is not None:
                made.append((f"{node.name} == {value!r}", lambda *x, k=k, v=value: x[k] == v))
            continue
        shape = node.meta["val"].shape
        made.append(
            (
                f"len({node.name}.size()) == {len(shape)}",
                lambda *x, k=k, s=shape: x[k].ndim == len(s),
            )
        )
        for d, size in enumerate(shape):
            word = f"{node.name}.size()[{d}]"
            axis = program._call.axes.get(k, {}).get(d)
            if axis is None:
                made.append((f"{word} == {size}", lambda *x, k=k, d=d, n=size: x[k].shape[d] == n))
                continue
            made += _bound(word, k, d, axis, limits.get(axis.name))
            first = sources.setdefault(axis.name, (k, d, axis, word))
            if first[3] != word:
                made.append((_equality(first, axis, word), _follows(first, k, d, axis)))
    return made


def _bound(word: str, k: int, d: int, axis: Axis, limits: ValueRanges | None) -> Any:
    made: list[tuple[str, Callable[..., bool]]] = []
    if axis.factor != 1:
        text = (
            f"({word} - {axis.offset}) % {axis.factor} == 0"
            if axis.offset
            else f"{word} % {axis.factor} == 0"
        )
        made.append((text, lambda *x: (x[k].shape[d] - axis.offset) % axis.factor == 0))
    if limits is not None and limits.upper is not None:
        most = axis.factor * limits.upper + axis.offset
        made.append((f"{word} <= {most}", lambda *x: x[k].shape[d] <= most))
    if limits is not None and limits.lower > 2:
        least = axis.factor * limits.lower + axis.offset
        made.append((f"{word} >= {least}", lambda *x: x[k].shape[d] >= least))
    return made


def _equality(first: tuple[int, int, Axis, str], axis: Axis, word: str) -> str:
    if (first[2].factor, first[2].offset) == (axis.factor, axis.offset):
        return f"{first[3]} == {word}"
    return f"{word} follows from {first[3]}"


def _follows(first: tuple[int, int, Axis, str], k: int, d: int, axis: Axis) -> Callable[..., bool]:
    def holds(*x: Any) -> bool:
        root = (x[first[0]].shape[first[1]] - first[2].offset) // first[2].factor
        return bool(x[k].shape[d] == axis.factor * root + axis.offset)

    return holds


def _module(program: ExportedProgram, check_guards: bool) -> GraphModule:
    root = Module()
    graph = Graph()
    graph._codegen = _PyTreeCodeGen(
        _PyTreeInfo(program._call.names, program._call.in_spec, program._call.out_spec)
    )
    known: dict[Node, Node] = {}
    specs = {s.arg.name: s for s in program.graph_signature.input_specs}
    inputs = [n for n in program.graph.nodes if n.op == "placeholder"]
    own = [n for n in inputs if specs[n.name].kind is InputKind.USER_INPUT]
    for node in own:
        known[node] = graph.placeholder(node.name)
        known[node].meta = dict(node.meta)
    for node in inputs:
        spec = specs[node.name]
        if spec.kind is not InputKind.USER_INPUT:
            _put(root, str(spec.target), program._value(str(spec.target)), spec)
            known[node] = graph.get_attr(str(spec.target))
            known[node].meta = dict(node.meta)
    checks = _checks(program) if check_guards else []
    if checks and own:
        root.add_module("_guards_fn", GuardsFn(checks))
        graph.call_module("_guards_fn", tuple([known[n] for n in own]))
    for node in program.graph.nodes:
        if node.op == "output":
            graph.output(tuple([known[r] if isinstance(r, Node) else r for r in node.args[0]]))
        elif node.op != "placeholder":
            known[node] = graph.node_copy(node, lambda n: known[n])
    made = GraphModule(root, graph)
    made.register_forward_pre_hook(_structure(program._call.in_spec), with_kwargs=True)
    made.train = _refused("train")  # type: ignore[method-assign]
    made.eval = _refused("eval")  # type: ignore[method-assign]
    return made


def _put(root: Module, target: str, tensor: Tensor, spec: InputSpec) -> None:
    """Register a tensor under its name in the original module."""
    *path, last = target.split(".")
    owner = root
    for part in path:
        if not hasattr(owner, part):
            owner.add_module(part, Module())
        owner = getattr(owner, part)
    if spec.kind is InputKind.PARAMETER:
        owner.register_parameter(
            last, tensor if isinstance(tensor, Parameter) else Parameter(tensor)
        )
    elif spec.kind is InputKind.BUFFER:
        owner.register_buffer(last, tensor, persistent=bool(spec.persistent))
    else:
        setattr(owner, last, tensor)


def _refused(name: str) -> Any:
    def refuse(mode: bool = True) -> Any:
        raise UnsupportedError(f"Calling {name}() is not supported yet.")

    return refuse


def _structure(want: Any) -> Callable[..., Any]:
    """A hook that refuses arguments of another structure, and puts keywords in order."""

    def check(module: Any, args: Any, kwargs: Any) -> Any:
        names = list(want.child(1).context or []) if want.num_children == 2 else []
        if set(names) == set(kwargs):
            kwargs = {name: kwargs[name] for name in names}
        got = tree_flatten((args, kwargs))[1]
        if got != want:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{want}\nbut actually got inputs with tree spec of: \n{got}.\n"
                "Please check that the inputs have the same number and type of args and kwargs as the ones you used when tracing."
            )
        return args, kwargs

    return check


# ---- decompositions ----------------------------------------------------------------------------
def default_decompositions() -> CustomDecompTable:
    """Return the functions that `ExportedProgram.run_decompositions` applies by default: none. Operators that PyTorch composes of
    others are always decomposed.

    >>> import pellucid as torch
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> lower = program.run_decompositions(torch.export.default_decompositions())
    >>> [str(node.target) for node in lower.graph.nodes if node.op == "call_function"]
    ['aten.t.default', 'aten.addmm.default']
    """
    return CustomDecompTable()


def _decomposed(program: ExportedProgram, table: dict[Any, Callable[..., Any]]) -> ExportedProgram:
    """The program traced again, below the operators that are composed of others."""
    if program.example_inputs is None:
        raise UnsupportedError("run_decompositions() needs the example's inputs")
    module = program.module(check_guards=False)
    signature = program.graph_signature
    buffers = {name: program._value(name) for name in signature.buffers}
    state = State(dict(program.named_parameters()), buffers, set(signature.non_persistent_buffers))
    limits = {str(s): (r.lower, r.upper) for s, r in program.range_constraints.items()}
    leaves, spec = tree_flatten(program.example_inputs)
    words = [s.arg.name for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    dynamic = Dynamic(program._call.axes, limits, {})
    traced = trace(module, state, words, leaves, spec, dynamic, table)
    call = CallSignature(spec, program._call.out_spec, program._call.names, traced.axes)
    paths = [entry.fqn for entry in program.module_call_graph if entry.fqn]
    return program_of(traced, state, call, paths, program.example_inputs)
