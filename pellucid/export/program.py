"""`torch.export`: a module's forward as a list of operations with its state, which runs, prints and
is stored without pickle.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pellucid import dtypes
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError

from .trace import Ref, Size, Step, Trace, flatten, record_checked, refs, unflatten


class Dim:
    """A dynamic size for `dynamic_shapes`, by name.

    >>> from pellucid.export import Dim
    >>> Dim("batch")
    Dim('batch')
    """

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise ArgumentValueError(f"Dim names must be valid identifiers, got {name!r}")
        self.__name__ = name
        self.min, self.max = min, max

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r})"

    AUTO: Any
    DYNAMIC: Any
    STATIC: Any


class _Hint:
    """A dynamic size without a name: sizes that are equal in the example are one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = map(_Hint, ("AUTO", "DYNAMIC", "STATIC"))


class ExportedProgram:
    """What `export` returns: the graph, the parameters, buffers and constants, and how to call it
    again.
    """

    def __init__(
        self, trace: Trace, state_dict: dict[str, Tensor], in_spec: Any, bounds: dict[str, Any]
    ) -> None:
        self._trace = trace
        self._state = state_dict
        self._in_spec = in_spec
        self._bounds = bounds

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by their names in the module."""
        return self._state

    @property
    def constants(self) -> dict[str, Tensor]:
        """Tensors that are neither parameters nor buffers, by their names in the graph."""
        return {f"c{value}": make_tensor(array) for value, array in self._trace.constants.items()}

    @property
    def graph(self) -> str:
        """The operations as text, one line each.

        >>> import pellucid as torch
        >>> class Twice(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x * 2
        >>> print(torch.export.export(Twice(), (torch.ones(3),)).graph)
        inputs: %0 float32[3]
        %1 float32[3] = mul(%0, 2)
        result: %1
        """
        return "\n".join(_lines(self._trace))

    tensor_constants = constants
    graph_module = property(lambda self: self.module())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters, which require grad, with their names in the module."""
        return ((name, t) for name, t in self._state.items() if t.requires_grad)

    def parameters(self) -> Iterator[Tensor]:
        """The parameters."""
        return (t for _, t in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The other tensors of the state with their names in the module."""
        return ((name, t) for name, t in self._state.items() if not t.requires_grad)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (t for _, t in self.named_buffers())

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """Which values of the graph are inputs, parameters, buffers and results.

        >>> import pellucid as torch
        >>> torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),)).graph_signature.inputs_to_parameters
        {'%1': 'weight', '%2': 'bias'}
        """
        trace = self._trace
        named = {f"%{value}": name for value, name in trace.state.items()}
        trained = {name for name, _ in self.named_parameters()}
        return ExportGraphSignature(
            tuple([f"%{v}" for v in trace.inputs]),
            tuple([f"%{v}" for v in trace.outputs]),
            {key: name for key, name in named.items() if name in trained},
            {key: name for key, name in named.items() if name not in trained},
        )

    @property
    def range_constraints(self) -> dict[str, tuple[int | None, int | None]]:
        """The dynamic sizes by name, each with its smallest and largest value (None: no bound)."""
        found = {
            n.names[0]
            for v in self._trace.inputs
            for n in self._trace.shapes[v]
            if isinstance(n, Size)
        }
        return {name: self._bounds.get(name) or (None, None) for name in sorted(found)}

    def module(self) -> GraphModule:
        """A callable that runs the graph; gradients flow to its parameters."""
        return GraphModule(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        return "ExportedProgram:\n" + "\n".join("    " + line for line in _lines(self._trace))


class ExportGraphSignature(NamedTuple):
    """The inputs and results of an exported graph by their values' names."""

    user_inputs: tuple[str, ...]
    user_outputs: tuple[str, ...]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters in the module."""
        return list(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> list[str]:
        """The names of the buffers in the module."""
        return list(self.inputs_to_buffers.values())


class GraphModule:
    """The recorded operations as a callable with the module's parameters and buffers."""

    def __init__(self, program: ExportedProgram) -> None:
        self._program = program

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by name."""
        return OrderedDict(self._program.state_dict)

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The parameters, which require grad, with their names."""
        return ((name, t) for name, t in self._program.state_dict.items() if t.requires_grad)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The other tensors of the state with their names."""
        return ((name, t) for name, t in self._program.state_dict.items() if not t.requires_grad)

    def parameters(self) -> Iterator[Tensor]:
        """The parameters."""
        return (t for _, t in self.named_parameters())

    def train(self, mode: bool = True) -> GraphModule:
        """Refused: the operations are those of the mode in which the module was exported."""
        raise UnsupportedError("Calling train() is not supported yet.")

    def eval(self) -> GraphModule:
        """Refused, as `train` is."""
        raise UnsupportedError("Calling eval() is not supported yet.")

    @property
    def code(self) -> str:
        """The operations as text."""
        return self._program.graph

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operations.

        Raises:
            ValueError: arguments of another structure, shape or dtype than in the export.
        """
        program = self._program
        leaves: list[Any] = []
        if flatten([list(args), kwargs], leaves) != program._in_spec:
            raise ArgumentValueError(
                "the arguments have another structure (or other numbers) than those of the export"
            )
        trace = program._trace
        sizes = _check_inputs(trace, leaves, program._bounds)
        values: dict[int, Any] = dict(zip(trace.inputs, leaves, strict=True))
        values.update({value: program._state[name] for value, name in trace.state.items()})
        values.update({value: make_tensor(array) for value, array in trace.constants.items()})
        last = _last_uses(trace)
        for k, step in enumerate(trace.steps):
            out = run_step(step, values, sizes)
            values.update(zip(step.outputs, out if isinstance(out, tuple) else (out,), strict=True))
            for value in last.get(k, ()):
                values.pop(value, None)
        return unflatten(trace.result, [values[v] for v in trace.outputs])


def run_step(step: Step, values: dict[int, Any], sizes: dict[str, int]) -> Any:
    """The result of one step."""

    def filled(part: Any) -> Any:
        if isinstance(part, Ref):
            return values[part.value]._array
        if isinstance(part, Size):
            return part.at(sizes)
        if isinstance(part, (tuple, list)):
            return type(part)([filled(item) for item in part])
        if isinstance(part, dict):
            return {key: filled(item) for key, item in part.items()}
        if isinstance(part, slice):
            return slice(filled(part.start), filled(part.stop), filled(part.step))
        return part

    params = {key: filled(part) for key, part in step.params.items()}
    if step.op == "arange":
        return make_tensor(np.arange(params["end"]).astype(params["dtype"]))
    if step.op == "copy_slices":
        params["chain"] = tuple(
            [(PRIMITIVES[name], how, index) for name, how, index in params["chain"]]
        )
    inputs = [values[x.value] if isinstance(x, Ref) else filled(x) for x in step.inputs]
    return PRIMITIVES[step.op].call(*inputs, **params)


def _last_uses(trace: Trace) -> dict[int, list[int]]:
    """Which values are needed no more after which step."""
    last: dict[int, int] = {}
    for k, step in enumerate(trace.steps):
        for ref in refs([step.inputs, step.params]):
            last[ref.value] = k
    out: dict[int, list[int]] = {}
    for value, k in last.items():
        if value not in trace.outputs:
            out.setdefault(k, []).append(value)
    return out


def _check_inputs(trace: Trace, leaves: list[Any], bounds: dict[str, Any]) -> dict[str, int]:
    """The dynamic sizes of a call."""
    sizes: dict[str, int] = {}
    for k, (value, tensor) in enumerate(zip(trace.inputs, leaves, strict=True)):
        shape, array = trace.shapes[value], tensor._array
        fits = len(shape) == array.ndim and trace.dtypes[value] == array.dtype
        if fits:
            for want, got in zip(shape, array.shape, strict=True):
                if isinstance(want, Size):
                    fits = fits and sizes.setdefault(want.names[0], got) == got
                else:
                    fits = fits and want == got
        if not fits:
            raise ArgumentValueError(
                f"input {k} should be {_type_text(trace, value)}, not {dtypes.BY_NUMPY[array.dtype].name}{list(array.shape)}: "
                "the program was exported for that (dynamic_shapes= leaves sizes open)"
            )
    for name, size in sizes.items():
        low, high = bounds.get(name) or (None, None)
        if (low is not None and size < low) or (high is not None and size > high):
            raise ArgumentValueError(
                f"the dynamic size {name!r} is {size}, outside of [{low}, {high}]"
            )
    return sizes


# ---- text ------------------------------------------------------------------------------------
def _type_text(trace: Trace, value: int) -> str:
    sizes = ", ".join("?" if n is None else str(n) for n in trace.shapes[value])
    return f"{dtypes.BY_NUMPY[trace.dtypes[value]].name}[{sizes}]"


def _text(part: Any) -> str:
    if isinstance(part, Ref):
        return f"%{part.value}"
    if isinstance(part, Size):
        return str(part)
    if isinstance(part, tuple):
        return "(" + ", ".join(_text(item) for item in part) + ("," if len(part) == 1 else "") + ")"
    if isinstance(part, list):
        return "[" + ", ".join(_text(item) for item in part) + "]"
    if isinstance(part, dict):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in part.items()) + "}"
    if isinstance(part, slice):
        return ":".join("" if x is None else _text(x) for x in (part.start, part.stop, part.step))
    if isinstance(part, np.dtype):
        return dtypes.BY_NUMPY[part].name
    return "..." if part is ... else repr(part)


def _lines(trace: Trace) -> list[str]:
    out = ["inputs: " + ", ".join(f"%{v} {_type_text(trace, v)}" for v in trace.inputs)]
    out += [f"%{v} {_type_text(trace, v)} = state {name!r}" for v, name in trace.state.items()]
    out += [f"%{v} {_type_text(trace, v)} = constant" for v in trace.constants]
    for step in trace.steps:
        left = ", ".join(f"%{v} {_type_text(trace, v)}" for v in step.outputs)
        words = [_text(x) for x in step.inputs] + [
            f"{key}={_text(part)}" for key, part in step.params.items()
        ]
        out.append(f"{left} = {step.op}({', '.join(words)})")
    return [*out, "result: " + ", ".join(f"%{v}" for v in trace.outputs)]


# ---- export ------------------------------------------------------------------------------------
def named_state(mod: Any) -> dict[str, Tensor]:
    """Parameters and buffers of a module by name (persistent or not)."""
    state = (
        dict(mod.named_parameters(remove_duplicate=False))
        if hasattr(mod, "named_parameters")
        else {}
    )
    if hasattr(mod, "named_buffers"):
        state.update(mod.named_buffers(remove_duplicate=False))
    return state


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """Record a module's forward for example inputs as an `ExportedProgram`.

    Args:
        mod: the module; it is recorded in the mode it is in (call `.eval()` first for inference).
        args: the positional arguments, tensors in tuples, lists and dicts.
        kwargs: the keyword arguments.
        dynamic_shapes: for each argument None or a dict (or tuple) axis -> `Dim`; sizes not named
            are fixed.
        strict: accepted; recording runs the function in either case.
        preserve_module_call_signature: must be empty: the graph is flat.

    Raises:
        NotImplementedError: something recorded depends on the values of the inputs.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> program = torch.export.export(layer, (torch.ones(3, 2),))
    >>> torch.equal(program.module()(torch.ones(3, 2)), layer(torch.ones(3, 2)))
    True
    """
    if not isinstance(args, tuple):
        raise ArgumentTypeError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    if preserve_module_call_signature:
        raise UnsupportedError(
            "export(): preserve_module_call_signature is not supported: the graph has no submodules"
        )
    if not hasattr(mod, "named_parameters"):
        raise ArgumentValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
        )
    kwargs = dict(kwargs or {})
    state = named_state(mod)
    dynamic, bounds = _dynamic_axes(mod, args, kwargs, dynamic_shapes)
    trace = record_checked(mod, state, args, kwargs, dynamic)
    leaves: list[Any] = []
    spec = flatten([list(args), kwargs], leaves)
    return ExportedProgram(trace, OrderedDict((name, t) for name, t in state.items()), spec, bounds)


def named_axes(mod: Any, args: Any, kwargs: Any, given: Any) -> dict[int, dict[int, str]]:
    """The dynamic axes by the number of the input, with their names; see `export`."""
    return _dynamic_axes(mod, args, kwargs, given)[0]


def _dynamic_axes(
    mod: Any, args: Any, kwargs: Any, given: Any
) -> tuple[dict[int, dict[int, str]], dict[str, Any]]:
    """Dynamic axes by the number of the input, and the bounds of the names."""
    if not given:
        return {}, {}
    if isinstance(given, dict):
        from inspect import signature

        names = [*list(signature(getattr(mod, "forward", mod)).parameters)[: len(args)], *kwargs]
        unknown = set(given) - set(names)
        if unknown:
            raise ArgumentValueError(
                f"dynamic_shapes names arguments that are not given: {sorted(unknown)}"
            )
        wanted = [given.get(name) for name in names]
    else:
        wanted = [*given, *[None] * (len(args) + len(kwargs) - len(given))]
    axes: dict[int, dict[int, str]] = {}
    bounds: dict[str, Any] = {}
    k = 0
    for value, want in zip([*args, *kwargs.values()], wanted, strict=True):
        leaves: list[Any] = []
        flatten(value, leaves)
        if want and (len(leaves) != 1 or value is not leaves[0]):
            raise UnsupportedError(
                "export(): dynamic_shapes inside a tuple, list or dict argument is not supported"
            )
        if isinstance(want, (tuple, list)):
            want = dict(enumerate(want))
        for axis, dim in (want or {}).items():
            size = leaves[0]._array.shape[axis] if isinstance(dim, _Hint) and leaves else 0
            if isinstance(dim, str):
                axes.setdefault(k, {})[axis] = dim
            elif dim is Dim.DYNAMIC or (dim is Dim.AUTO and size > 1):
                axes.setdefault(k, {})[axis] = f"s{size}"
            elif isinstance(dim, Dim):
                axes.setdefault(k, {})[axis] = dim.__name__
                bounds[dim.__name__] = (dim.min, dim.max)
            elif dim is not None and not isinstance(dim, (int, _Hint)):
                raise ArgumentTypeError(
                    f"dynamic_shapes: expected Dim, int or None for axis {axis}, got {type(dim).__name__}"
                )
        k += len(leaves)
    return axes, bounds
