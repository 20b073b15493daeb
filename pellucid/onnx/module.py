"""ONNX files as modules: the initializers become parameters and buffers, the nodes run as
operations of the engine.

What follows from shapes and constants alone (`Shape`, `Gather`, `Concat` in front of a `Reshape`)
is computed with arrays and is not recorded, so sizes stay open when such a module is exported
again. Where such a value meets data (a mask made from the length), an observed run computes it once
more from operations, for whoever records them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.core import observe
from pellucid.core.modes import no_grad
from pellucid.core.tensor import Parameter, Tensor, make_tensor
from pellucid.errors import ArgumentValueError, OperationError
from pellucid.nn.modules.module import Module
from pellucid.onnx.writer.errors import UnsupportedOperatorError
from pellucid.onnx.writer.listing import lines
from pellucid.onnx.writer.read import ReadFunction, ReadGraph, ReadModel, ReadNode, read_model

from .runtime import attention as attention
from .runtime import control as control
from .runtime import math as math
from .runtime import nn as nn
from .runtime import reduce as reduce
from .runtime import resize as resize
from .runtime import rnn as rnn
from .runtime import shape as shape
from .runtime.registry import OPERATORS, NodeCall, Operator, array_of, tensor_of

OPSETS = (7, 28)

# Inputs that are settings or statistics, not weights, by operator.
_SETTINGS = {
    "BatchNormalization": {3, 4},
    "Resize": {1, 2, 3},
    "Upsample": {1},
    "Clip": {1, 2},
    "Pad": {1, 2, 3},
    "OneHot": {1, 2},
    "Range": {0, 1, 2},
    "Dropout": {1, 2},
    "NonMaxSuppression": {2, 3, 4},
    "Cast": {0},
    "CastLike": {1},
    "Equal": {0, 1},
    "Less": {0, 1},
    "Greater": {0, 1},
    "RotaryEmbedding": {1, 2},
    "LessOrEqual": {0, 1},
    "GreaterOrEqual": {0, 1},
    "Not": {0},
    "Where": {0},
}


_RECIPES = "\0recipes"  # in a scope, where no value of a file has its name
_DRAWN = {
    "RandomNormal",
    "RandomUniform",
    "RandomNormalLike",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
}

# Operators that pass on what is a weight, and what is a setting, from their first input.
_PASSING = {
    "Slice",
    "Reshape",
    "Transpose",
    "Squeeze",
    "Unsqueeze",
    "Identity",
    "Expand",
    "Flatten",
}


class _Weights(Module):
    """A name space for parameters and buffers."""


@dataclass
class _Plan:
    """A node that is ready to run."""

    node: ReadNode
    operator: Operator
    call: NodeCall
    free: list[str]  # values that nobody needs afterwards


@contextmanager
def _unwatched() -> Iterator[None]:
    """Nobody is told of what runs inside the block, and no graph is recorded."""
    kept = observe.observers[:]
    observe.observers.clear()
    try:
        with no_grad():
            yield
    finally:
        observe.observers[:] = kept


class _Runner:
    """Runs graphs: that of the model, of its functions and of branches and loops."""

    def __init__(self, model: ReadModel) -> None:
        self.functions = model.functions
        self.plans: dict[int, tuple[ReadGraph, list[_Plan]]] = {}
        self.missing: set[str] = set()
        self.compile(model, model.opsets)
        for function in model.functions.values():
            for node in function.nodes:
                self.lookup(node)

    def compile(self, graph: ReadGraph, opsets: dict[str, int]) -> None:
        """Look up the operators of a graph and of the graphs inside."""
        plans = []
        for node in graph.nodes:
            found = self.lookup(node)
            for part in node.attributes.values():
                if isinstance(part, ReadGraph):
                    self.compile(part, opsets)
            if found is None:
                continue
            plans.append(
                _Plan(
                    node,
                    found,
                    NodeCall(node.op, node.attributes, opsets.get("", 0), node.outputs, self.run),
                    [],
                )
            )
        last = {name: plan for plan in plans for name in _used(plan.node)}
        for name, plan in last.items():
            if name not in graph.outputs:
                plan.free.append(name)
        self.plans[id(graph)] = (graph, plans)

    def lookup(self, node: ReadNode) -> Operator | None:
        """The implementation of a node; what there is none for is noted."""
        function = self.functions.get((node.domain, node.op))
        if function is not None:
            return Operator(_InlineFunction(self, function), keeps=True)
        found = OPERATORS.get(node.op) if node.domain == "" else None
        if found is None:
            self.missing.add(f"{node.domain}.{node.op}" if node.domain else node.op)
        return found

    def run(self, graph: ReadGraph, args: Sequence[Any], scope: dict[str, Any]) -> list[Any]:
        """The results of a graph. It sees the values of `scope`; arrays are what is known without
        the inputs.
        """
        values = {**scope, **graph.initializers, **dict(zip(graph.inputs, args, strict=False))}
        for plan in self.plans[id(graph)][1]:
            try:
                self.step(plan, values)
            except Exception as error:
                error.add_note(
                    f"in the node {', '.join(plan.node.outputs)} = {plan.node.op}({', '.join(plan.node.inputs)})"
                )
                raise
            for name in plan.free:
                values.pop(name, None)
        try:
            return [values[name] for name in graph.returns]
        except KeyError as error:
            raise OperationError(f"onnx: nothing makes the result {error.args[0]!r}") from None

    def step(self, plan: _Plan, values: dict[str, Any]) -> None:
        """Run one node."""
        how, names = plan.operator, plan.node.inputs
        recipes = values.get(_RECIPES)
        try:
            xs = [values[name] if name else None for name in names]
        except KeyError as error:
            raise OperationError(
                f"onnx: the value {error.args[0]!r} is used before it is made"
            ) from None
        call = plan.call
        if how.keeps:
            out = how.function(call, values, *xs) if how.scoped else how.function(call, *xs)
        elif how.shape_only:
            out = how.function(call, *xs)
        elif call.op not in _DRAWN and all(x is None or isinstance(x, np.ndarray) for x in xs):
            if recipes is None:
                out = _arrays(how.function(call, *_prepared(how, xs)))
            else:
                with _unwatched():
                    out = _arrays(how.function(call, *_prepared(how, xs)))
                recipes.note(out, call, how, xs)
        else:
            out = how.function(call, *_prepared(how, xs, recipes))
        if isinstance(out, tuple):
            if len(out) < sum(1 for name in call.outputs if name):
                raise OperationError(
                    f"onnx: {call.op} has {len(out)} results here, {len(call.outputs)} are named"
                )
            values.update(zip(call.outputs, out, strict=False))
        else:
            values[call.outputs[0]] = out


def _prepared(how: Operator, xs: list[Any], recipes: _Recipes | None = None) -> list[Any]:
    if recipes is not None:
        return [array_of(x) if k in how.static else recipes.tensor(x) for k, x in enumerate(xs)]
    return [array_of(x) if k in how.static else tensor_of(x) for k, x in enumerate(xs)]


class _Recipes:
    """How the known values of an observed run were made, so that they can be made again from
    operations.
    """

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, NodeCall, Operator, list[Any], int]] = {}
        self.tensors: dict[int, Any] = {}

    def note(self, out: Any, call: NodeCall, how: Operator, xs: list[Any]) -> None:
        """Remember the node that made arrays."""
        for k, array in enumerate(out if isinstance(out, tuple) else (out,)):
            if isinstance(array, np.ndarray) and not any(array is x for x in xs):
                self.made[id(array)] = (array, call, how, xs, k)

    def tensor(self, x: Any) -> Any:
        """A known value as the result of operations."""
        if not isinstance(x, np.ndarray):
            return x
        found = self.tensors.get(id(x))
        if found is None:
            recipe = self.made.get(id(x))
            if (
                recipe is None
                or not recipe[3]
                or x.size <= 1
                and all(np.size(y) <= 1 for y in recipe[3])
            ):
                found = tensor_of(x)
            else:
                _, call, how, xs, k = recipe
                out = how.function(call, *_prepared(how, xs, self))
                found = tensor_of((out if isinstance(out, tuple) else (out,))[k])
            self.tensors[id(x)] = found
        return found


def _arrays(out: Any) -> Any:
    """Results as arrays, since they are known."""
    if isinstance(out, Tensor):
        return out._array
    if isinstance(out, tuple):
        return tuple([_arrays(x) for x in out])
    return [_arrays(x) for x in out] if isinstance(out, list) else out


def _used(node: ReadNode) -> set[str]:
    """Names that a node and the graphs inside of it read."""
    used = set(node.inputs)
    for part in node.attributes.values():
        if isinstance(part, ReadGraph):
            used |= {name for inner in part.nodes for name in _used(inner)} | set(part.returns)
    return used - {""}


class _InlineFunction:
    """A function of the file, called as an operator; its nodes may refer to the attributes of the
    call.
    """

    def __init__(self, runner: _Runner, function: ReadFunction) -> None:
        self.runner, self.function = runner, function
        self.bound: dict[int, ReadGraph] = {}

    def __call__(self, c: NodeCall, *xs: Any) -> Any:
        body = self.bound.get(id(c))
        if body is None:
            given = {**self.function.defaults, **c.attributes}
            body = self.bound[id(c)] = ReadGraph(
                [_bind(n, given) for n in self.function.nodes],
                {},
                self.function.inputs,
                self.function.outputs,
            )
            self.runner.compile(body, self.function.opsets)
        missing = [None] * (len(self.function.inputs) - len(xs))
        return tuple(self.runner.run(body, [*xs, *missing], {}))


def _bind(node: ReadNode, given: dict[str, Any]) -> ReadNode:
    """A node of a function with the attributes of the call in it, also in the graphs inside."""
    attributes = {
        key: replace(value, nodes=[_bind(n, given) for n in value.nodes])
        if isinstance(value, ReadGraph)
        else value
        for key, value in node.attributes.items()
    }
    attributes |= {key: given[name] for key, name in node.refs.items() if name in given}
    return replace(node, attributes=attributes, refs={})


class OnnxModule(Module):
    """The module that `torch.onnx.load` returns. Its parameters and buffers have the names in the file.

    Weights (floating-point initializers with at least one dimension) are parameters and can be trained. Statistics, settings and numbers
    are buffers. `train()` changes nothing: the graph determines what is computed.

    Attributes:
        input_names, output_names: in the order of the arguments and of the results.
        opset: the version of the operators.
        metadata: the notes in the file.

    >>> import pellucid as torch
    >>> import io
    >>> file = io.BytesIO()
    >>> _ = torch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), file)
    >>> _ = file.seek(0)
    >>> model = torch.onnx.load(file)
    >>> model.input_names, [tuple(p.shape) for p in model.parameters()]
    (['input_0'], [(1, 2), (1,)])
    """

    def __init__(self, model: ReadModel) -> None:
        super().__init__()
        self._model = model
        self._runner = _Runner(model)
        self._places: dict[str, tuple[Module, str]] = {}
        kinds = _roles(model)
        arrays, model.initializers = model.initializers, {}
        for name, array in arrays.items():
            if array.dtype.kind == "O":
                raise UnsupportedOperatorError(
                    f"onnx.load(): the initializer {name!r} is text, which is not supported"
                )
            trained = (
                kinds.get(name, False)
                and array.ndim > 0
                and array.dtype.name in ("float16", "bfloat16", "float32", "float64")
            )
            owner, key = self._place(name)
            if trained:
                owner.register_parameter(key, Parameter(make_tensor(array)))
            else:
                owner.register_buffer(key, make_tensor(array))
            self._places[name] = (owner, key)
        self.input_names = [name for name in model.inputs if name not in arrays]
        self.output_names = list(model.returns)
        self.opset = model.opset
        self.metadata = model.metadata

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state["_runner"] = None  # is made again from the nodes
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._runner = _Runner(self._model)

    def _place(self, name: str) -> tuple[Module, str]:
        """The submodule and the attribute for a name with dots."""
        *path, key = name.split(".")
        owner: Module = self
        whole = all([*path, key])
        for part in path if whole else []:
            child = owner._modules.get(part)
            if child is None and hasattr(owner, part):
                whole = False
                break
            if child is None:
                child = _Weights()
                owner.add_module(part, child)
            owner = child
        if not whole:
            owner, key = self, name.replace(".", "_") or "_"
        while hasattr(owner, key):
            key += "_"
        return owner, key

    def forward(self, *args: Tensor, **kwargs: Tensor) -> Any:
        """The result, or a tuple of them.

        Args:
            args: the inputs in the order of `input_names`.
            kwargs: inputs by name.

        Raises:
            ValueError: another number of inputs, or an input of another dtype or shape.
        """
        given = dict(zip(self.input_names, args, strict=False))
        wrong = [name for name in kwargs if name in given or name not in self.input_names]
        given.update(kwargs)
        if wrong or len(args) > len(self.input_names) or len(given) != len(self.input_names):
            raise ArgumentValueError(
                f"the model has {len(self.input_names)} inputs ({self.input_names}), {len(args) + len(kwargs)} were given"
            )
        model, sizes = self._model, dict[str, int]()
        for name in self.input_names:
            _check(name, given[name], model.inputs[name], sizes)
        scope: dict[str, Any] = {}
        for name, (owner, key) in self._places.items():
            value = getattr(owner, key)
            known = not value.requires_grad and (value.ndim == 0 or not value.is_floating_point())
            scope[name] = value._array if known else value
        recipes = scope[_RECIPES] = _Recipes() if observe.observers else None
        out = self._runner.run(
            model, [given[name] if name in given else scope[name] for name in model.inputs], scope
        )
        last = tensor_of if recipes is None else recipes.tensor
        made = tuple([[last(part) for part in x] if isinstance(x, list) else last(x) for x in out])
        return made[0] if len(made) == 1 else made

    @property
    def code(self) -> str:
        """The graph as text, a line for each node."""
        return "\n".join(lines(self._model, self.input_names))

    def __repr__(self) -> str:
        return (
            "OnnxModule(\n"
            + "\n".join("  " + line for line in lines(self._model, self.input_names))
            + "\n)"
        )


def _check(name: str, t: Any, described: tuple[Any, Any], sizes: dict[str, int]) -> None:
    """Refuse an input that the file does not describe."""
    dtype, dims = described
    if dtype is None or not isinstance(t, Tensor):
        return
    fits = dims is None or len(dims) == t._array.ndim
    for want, got in zip(dims or (), t.shape, strict=False):
        if isinstance(want, int):
            fits = fits and want == got
        elif want.isidentifier():
            fits = fits and sizes.setdefault(want, got) == got
    if t._array.dtype != dtype or not fits:
        shape = "" if dims is None else list(dims)
        raise ArgumentValueError(
            f"input {name!r} should be {dtype.name}{shape}, not {t._array.dtype.name}{list(t.shape)}"
        )


def _roles(model: ReadModel) -> dict[str, bool]:
    """Which initializers are weights: those that some operator reads other than as a setting."""
    weights: set[str] = set(model.outputs)
    passed: dict[str, list[str]] = {}

    def visit(graph: ReadGraph) -> None:
        for node in graph.nodes:
            settings = _SETTINGS.get(node.op, set()) if node.domain == "" else set()
            for k, name in enumerate(node.inputs):
                if k == 0 and node.op in _PASSING:
                    passed.setdefault(name, []).append(node.outputs[0])
                elif k not in settings:
                    weights.add(name)
            for part in node.attributes.values():
                if isinstance(part, ReadGraph):
                    visit(part)

    def weight(name: str) -> bool:
        seen, left = {name}, [name]
        while left:
            at = left.pop()
            if at in weights:
                return True
            left += [n for n in passed.get(at, ()) if n not in seen]
            seen.update(left)
        return False

    visit(model)
    return {name: weight(name) for name in model.initializers}


def load(f: str | os.PathLike[str] | Any) -> OnnxModule:
    """Read an ONNX file as a module.

    Args:
        f: path or binary stream. Tensors that lie in other files are found with a path only, in the
            model's folder.

    Raises:
        UnsupportedOperatorError: lists all operators that are not supported.
        RuntimeError: the file is damaged.

    Source: https://onnx.ai/onnx/repo-docs/IR.html

    >>> import io
    >>> import pellucid as torch
    >>> file = io.BytesIO()
    >>> _ = torch.onnx.export(torch.nn.Linear(2, 1), torch.ones(1, 2), file)
    >>> model = torch.onnx.load(io.BytesIO(file.getvalue()))
    >>> print(model)
    OnnxModule(
      inputs input_0: float32[1, 2]
      gemm = Gemm(input_0, weight, bias, transB=1)
      output_0 = Identity(gemm)
      return output_0
    )
    >>> [name for name, _ in model.named_parameters()]
    ['weight', 'bias']
    """
    folder = None
    if hasattr(f, "read"):
        data = f.read()
    else:
        folder = os.path.dirname(os.path.abspath(f))
        with open(f, "rb") as file:
            data = file.read()
    model = read_model(data, folder)
    if not OPSETS[0] <= model.opset <= OPSETS[1]:
        raise UnsupportedOperatorError(
            f"onnx.load(): the file has the opset {model.opset}, read are {OPSETS[0]} to {OPSETS[1]}"
        )
    made = OnnxModule(model)
    if made._runner.missing:
        raise UnsupportedOperatorError(
            f"onnx.load(): no operators for: {', '.join(sorted(made._runner.missing))}"
        )
    return made


def supported_operators() -> list[str]:
    """Names of the ONNX operators that `load` understands.

    >>> import pellucid as torch
    >>> "Conv" in torch.onnx.supported_operators()
    True
    """
    return sorted(OPERATORS)
