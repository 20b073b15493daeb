"""`torch.jit._get_trace_graph`: the operators of one run as a graph of values and nodes, which tools
that count operations and parameters read.

What is recorded are the calls of public functions, each under the name and with the arguments of
its ATen operator. The graph is for reading: it cannot be changed or run.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._pytree import tree_flatten
from ..api.overriding import public_name
from ..aten.overload import ops
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor
from ..dtypes import device
from ..dtypes import dtype as dtype_type
from ..errors import UnsupportedError
from ..nn.modules._cells import RNNCellBase
from ..nn.modules.module import Module
from ..nn.modules.rnn import RNNBase
from ..overrides import TorchFunctionMode

# Names that differ: of functions and of their operators, of arguments here and there.
_OPERATORS = {
    "cross_entropy": "cross_entropy_loss",
    "getitem": "index",
    "truediv": "div",
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "itruediv": "div_",
    "T": "numpy_T",
    "H": "matrix_H",
    "conv_transpose1d": "_convolution",
    "conv_transpose2d": "_convolution",
    "conv_transpose3d": "_convolution",
    "conv1d": "_convolution",
    "conv2d": "_convolution",
    "conv3d": "_convolution",
}
_ARGUMENTS = {"self": ("input", "x"), "train": ("training",), "indices": ("input",)}
_ARITHMETIC = frozenset({"add", "sub", "mul", "div"})  # whose second argument is a tensor
# What tells about a tensor and computes nothing.
_QUESTIONS = frozenset(
    "size dim numel nelement ndimension stride storage_offset is_contiguous is_floating_point "
    "is_complex item tolist data_ptr element_size get_device register_hook requires_grad_ "
    "untyped_storage type_as_name __len__ __iter__ __bool__ __format__ __repr__ __hash__".split()
)


class Type:
    """The type of a value: that of a tensor with its sizes, or of a number, a list, nothing."""

    def __init__(self, value: Any) -> None:
        self._tensor = isinstance(value, Tensor)
        if self._tensor:
            self._sizes, self._strides = list(value.shape), list(value.stride())
            self._dtype, self._device = value.dtype, value.device
            self._requires_grad = value.requires_grad
        self._name = (
            "Tensor" if self._tensor else _type_name(value)
        )  # as TorchScript writes the type

    def kind(self) -> str:
        """The class of the type: `TensorType`, `IntType`, ..."""
        if self._name.endswith("[]"):
            return "ListType"
        if self._name.startswith("__torch__"):
            return "ClassType"
        if self._name.startswith("("):
            return "TupleType"
        kinds = {"NoneType": "NoneType", "str": "StringType", "Device": "DeviceObjType"}
        return kinds.get(self._name, f"{self._name.capitalize()}Type")

    def sizes(self) -> list[int] | None:
        """The sizes of a tensor."""
        return self._sizes if self._tensor else None

    def strides(self) -> list[int] | None:
        """The strides of a tensor."""
        return self._strides if self._tensor else None

    def varyingSizes(self) -> list[int] | None:
        """The sizes of a tensor."""
        return self.sizes()

    def dim(self) -> int | None:
        """How many dimensions a tensor has."""
        return len(self._sizes) if self._tensor else None

    def scalarType(self) -> str | None:
        """The kind of a tensor's elements: `Float`, `Long`, ..."""
        return self._dtype.scalar_type_name if self._tensor else None

    def dtype(self) -> Any:
        """The dtype of a tensor."""
        return self._dtype if self._tensor else None

    def device(self) -> Any:
        """The device of a tensor."""
        return self._device if self._tensor else None

    def requires_grad(self) -> bool:
        """Whether a tensor requires a gradient."""
        return self._tensor and self._requires_grad

    def getElementType(self) -> Type:
        """The type of a list's elements."""
        element = object.__new__(Type)
        element._tensor, element._name = False, self._name.removesuffix("[]")
        return element

    @classmethod
    def named(cls, name: str) -> Type:
        """A type that is known by its name: of a module, of a tensor without sizes, of a tuple."""
        made = object.__new__(cls)
        made._tensor, made._name = False, name
        return made

    @property
    def annotation_str(self) -> str:
        """The type as annotations write it: `Tensor` for every tensor."""
        return self._name

    def str(self) -> str:
        """The type as TorchScript writes it: a tensor's with its sizes and strides."""
        if not self._tensor:
            return self._name
        sizes = [f"{size}" for size in self._sizes]
        strides = [f"strides=[{', '.join(map(repr, self._strides))}]"] if sizes else []
        rest = [f"requires_grad={int(self._requires_grad)}", f"device={self._device}"]
        return f"{self.scalarType()}({', '.join([*sizes, *strides, *rest])})"

    __str__ = __repr__ = str


def _type_name(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"{'Tensor' if value and isinstance(value[0], Tensor) else _type_name(value[0]) if value else 'int'}[]"
    names = {bool: "bool", int: "int", float: "float", str: "str", complex: "complex"}
    if value is None:
        return "NoneType"
    return names.get(type(value), "int" if isinstance(value, dtype_type) else "Device")


class Value:
    """What a node makes: a tensor, a number, a list."""

    def __init__(self, node: Node, number: int, of: Any) -> None:
        self._node, self._number = node, number
        self._type = of if isinstance(of, Type) else Type(of)
        self._users: list[Node] = []
        self._name = ""  # of the variable that holds it

    def node(self) -> Node:
        """The node that makes it."""
        return self._node

    def unique(self) -> int:
        """Its number."""
        return self._number

    def debugName(self) -> str:
        """Its name in the text of the graph."""
        return self._name or str(self._number)

    def setDebugName(self, name: str) -> Value:
        """Call it so in the text of the graph."""
        self._name = name
        return self

    def type(self) -> Type:
        """Its type."""
        return self._type

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor of known sizes."""
        return self._type._tensor

    def requires_grad(self) -> bool:
        """Whether it is a tensor that requires a gradient."""
        return self._type.requires_grad()

    def toIValue(self) -> Any:
        """The Python value of a constant, else None."""
        return self._node._constant

    def uses(self) -> list[Use]:
        """The places where nodes read it."""
        return [
            Use(user, at)
            for user in dict.fromkeys(self._users)
            for at, read in enumerate(user.inputs())
            if read is self
        ]

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self._node})"


class Use:
    """A place where a node reads a value."""

    def __init__(self, user: Node, offset: int) -> None:
        self.user, self.offset = user, offset


class Node:
    """One operator, or what makes a constant or a list."""

    def __init__(self, kind: str, scope: str, inputs: list[Value], constant: Any = None) -> None:
        self._kind, self._scope, self._inputs, self._constant = kind, scope, inputs, constant
        self._outputs: list[Value] = []
        self._at = ""  # the line that called the operator
        # The attribute that a constant, a GetAttr or a CallMethod has.
        self._attribute = "name" if kind in ("prim::GetAttr", "prim::CallMethod") else "value"
        for value in inputs:
            value._users.append(self)

    def kind(self) -> str:
        """`aten::linear`, `prim::Constant`, ..."""
        return self._kind

    def scopeName(self) -> str:
        """The scopes it was recorded in, with slashes between."""
        return self._scope

    def inputs(self) -> Iterator[Value]:
        """What it reads."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        """What it makes."""
        return iter(self._outputs)

    def inputsSize(self) -> int:
        """How many values it reads."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many values it makes."""
        return len(self._outputs)

    def inputsAt(self, index: int) -> Value:
        """One of the values that it reads."""
        return self._inputs[index]

    def outputsAt(self, index: int) -> Value:
        """One of the values that it makes."""
        return self._outputs[index]

    def input(self) -> Value:
        """The only value that it reads."""
        (value,) = self._inputs
        return value

    def output(self) -> Value:
        """The only value that it makes."""
        (value,) = self._outputs
        return value

    def attributeNames(self) -> list[str]:
        """The names of its attributes: a constant has `value`, what reads an attribute `name`."""
        return [] if self._constant is None else [self._attribute]

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute of that name."""
        return name in self.attributeNames()

    def kindOf(self, name: str) -> str:
        """The letter of an attribute's type: i, f, s, t; it names the method that returns it."""
        kinds = {bool: "i", int: "i", float: "f", str: "s", complex: "c"}
        return (
            "t" if isinstance(self._constant, Tensor) else kinds.get(type(self._constant), "ival")
        )

    def __getitem__(self, name: str) -> Any:
        if name not in self.attributeNames():
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return self._constant

    i = f = s = t = c = ival = __getitem__

    def __repr__(self) -> str:
        made = ", ".join(f"%{v.debugName()} : {v.type()}" for v in self._outputs)
        read = ", ".join(f"%{v.debugName()}" for v in self._inputs)
        constant = (
            ""
            if self._constant is None
            else f"[{self._attribute}={_constant_text(self._constant)}]"
        )
        scope = f", scope: {self._scope}" if self._scope else ""
        at = f" # {self._at}" if self._at else ""
        return f"{made} = {self._kind}{constant}({read}){scope}{at}\n"

    def sourceRange(self) -> str:
        """The line that called the operator."""
        return self._at


def _constant_text(value: Any) -> str:
    """A constant as TorchScript writes it."""
    if isinstance(value, Tensor):
        return f"{{{value.item():g}}}" if value.numel() == 1 else "<Tensor>"
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text if any(c in text for c in ".en") else f"{text}."
    return '"' + str(value).replace('"', '\\"') + '"'


class Graph:
    """The nodes of a run, in their order."""

    def __init__(self) -> None:
        self._params = Node("prim::Param", "", [])
        self._nodes: list[Node] = []
        self._return = Node("prim::Return", "", [])

    def nodes(self) -> Iterator[Node]:
        """The nodes."""
        return iter(self._nodes)

    def inputs(self) -> Iterator[Value]:
        """The tensors that the run was given, then the parameters and buffers."""
        return self._params.outputs()

    def outputs(self) -> Iterator[Value]:
        """What the run returned."""
        return self._return.inputs()

    def param_node(self) -> Node:
        """The node whose outputs are the graph's inputs."""
        return self._params

    def return_node(self) -> Node:
        """The node whose inputs are the graph's outputs."""
        return self._return

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind."""
        return [node for node in self._nodes if node.kind() == kind]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind."""
        return next(iter(self.findAllNodes(kind)), None)

    def __repr__(self) -> str:
        given = ",\n      ".join(f"%{v.debugName()} : {v.type()}" for v in self.inputs())
        made = ", ".join(f"%{v.debugName()}" for v in self.outputs())
        return f"graph({given}):\n{''.join(f'  {n}' for n in self._nodes)}  return ({made})\n"


def _wrapped(x: Any) -> Any:
    """A number that stands where the operator takes a tensor, as that tensor."""
    kinds: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
    return make_tensor(np.asarray(x, kinds[type(x)])) if type(x) in kinds else x


class TracingState:
    """What is recorded at this moment, and in which scopes."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.scopes: list[str] = []
        self.at = ""  # the line that calls
        self.quiet = 0  # how many recurrent layers run: each is one operator
        self.names = False  # whether values are named after variables
        self._values: dict[int, tuple[Any, Value]] = {}  # by the tensor, which is kept alive
        self._count = 0

    def push_scope(self, name: str) -> None:
        """Record under a further scope from here on."""
        self.scopes.append(name)

    def pop_scope(self) -> None:
        """Leave the scope entered last."""
        self.scopes.pop()

    def current_scope(self) -> str:
        """The scopes, with slashes between."""
        return "/".join(self.scopes)

    def make(self, node: Node, of: Any) -> Value:
        """A new value of a node; a tensor is known by it from here on."""
        value = Value(node, self._count, of)
        self._count += 1
        node._outputs.append(value)
        if isinstance(of, Tensor):
            self._values[id(of)] = of, value
        return value

    def value_of(self, x: Any) -> Value:
        """The value that stands for an argument: what made it, a list of values, or a constant."""
        if isinstance(x, Tensor) and id(x) in self._values:
            return self._values[id(x)][1]
        if isinstance(x, (list, tuple)):
            node = self._add("prim::ListConstruct", [self.value_of(each) for each in x])
            node._at = ""
        else:
            node = self._add("prim::Constant", [], x)
            node._at = "" if x is None else node._at
        return self.make(node, x)

    def _add(self, kind: str, inputs: list[Value], constant: Any = None) -> Node:
        node = Node(kind, self.current_scope(), inputs, constant)
        node._at = self.at
        self.graph._nodes.append(node)
        return node

    def record(self, name: str, arguments: list[Any], result: Any, several: bool = False) -> None:
        """A node for a call that has returned."""
        if (
            name.rstrip("_") in _ARITHMETIC
            and len(arguments) > 1
            and isinstance(arguments[0], Tensor)
        ):
            arguments[1] = _wrapped(arguments[1])
            if name.rstrip("_") in ("add", "sub") and len(arguments) == 2:
                arguments.append(1)
        node = self._add(f"aten::{name}", [self.value_of(x) for x in arguments])
        if several:  # a list that is taken apart
            made = self.make(node, Type.named("Tensor[]"))
            node = self._add("prim::ListUnpack", [made])
            node._at = ""
        for made in result if isinstance(result, (list, tuple)) else [result]:
            value = self.make(node, made)
            if name == "_convolution":  # which PyTorch records below autograd
                value._type._requires_grad = False


class _Recording(TorchFunctionMode):
    """Records the calls of public functions that make tensors."""

    def __init__(self, state: TracingState) -> None:
        super().__init__()
        self.state = state

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.state.quiet:
            return function(*args, **kwargs)
        plain = public_name(function)
        frame = _calling_frame()
        self.state.at = f"{frame.f_code.co_filename}:{frame.f_lineno}:0" if frame else ""
        if self.state.names and plain not in _QUESTIONS:
            self._name(function, args, kwargs, frame)
        name = _OPERATORS.get(plain.strip("_") if plain.startswith("__") else plain, plain)
        name = name.strip("_") if name.startswith("__") else name
        packet = None if plain in _QUESTIONS else _packet(name)
        inner = getattr(function, "__wrapped__", None)
        if packet is None and inner is not None and plain not in _QUESTIONS:
            before = len(self.state.graph._nodes)
            with self:
                result = inner(*args, **kwargs)
            if len(self.state.graph._nodes) > before:
                return result
        else:
            result = function(*args, **kwargs)
        made = result if isinstance(result, (list, tuple)) else [result]
        if plain not in _QUESTIONS and made and all(isinstance(x, Tensor) for x in made):
            if kwargs.get("inplace") and _packet(f"{name}_") is not None:
                name, packet = f"{name}_", _packet(f"{name}_")
            unnamed, given = _given(function, args, kwargs)
            if name == "interpolate":
                name = _resizing(given["mode"], result.dim() - 2)
                packet = None
            if name == "_convolution":
                given = {**_CONVOLUTION, **given, "transposed": "transpose" in plain}
                rank = given["input"].dim() - 2
                for key in ("stride", "padding", "dilation", "output_padding"):
                    if isinstance(given[key], int):
                        given[key] = [given[key]] * rank
            if name == "embedding" and given["padding_idx"] is None:
                given["padding_idx"] = -1
            schema, arguments = _ordered(packet, unnamed, given)
            several = schema is not None and str(schema.returns[0].type) == "List[Tensor]"
            self.state.record(name, arguments, result, several)
        return result

    def _name(self, function: Any, args: Any, kwargs: Any, frame: Any) -> None:
        """Values get the names of the variables in which the caller holds them: of a function
        that PyTorch writes in Python, its parameters.
        """
        if str(getattr(function, "__module__", "")).endswith("nn.functional"):
            variables = _given(function, args, kwargs)[1]
        else:
            variables = frame.f_locals if frame else {}
        for x in tree_flatten((args, kwargs))[0]:
            value = self.state._values.get(id(x), (None, None))[1]
            if value is not None and not value._name:
                found = (name for name, held in variables.items() if held is x)
                value._name = next((name for name in found if name != "self"), "")


_HERE = str(Path(__file__).parent.parent)
_LAYERS = str(Path(_HERE, "nn", "modules"))


def _calling_frame() -> Any:
    """The frame of a layer or of the user's program that calls a function."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) or (
            file.startswith(_LAYERS) and not frame.f_code.co_name.startswith("_call")
        ):
            return frame
        frame = frame.f_back
    return None


def _resizing(mode: str, rank: int) -> str:
    """The operator of `interpolate` in a mode."""
    if mode == "area":
        return f"adaptive_avg_pool{rank}d"
    return f"{'_' if '-' in mode else ''}upsample_{mode.replace('-', '_')}{rank}d"


_CONVOLUTION = {
    "bias": None,
    "stride": 1,
    "padding": 0,
    "dilation": 1,
    "output_padding": 0,
    "groups": 1,
    "benchmark": False,
    "deterministic": False,
    "cudnn_enabled": True,
    "allow_tf32": True,
}


@functools.cache
def _packet(name: str) -> Any:
    """The operators of a name, or None."""
    try:
        found = getattr(ops.aten, name)
    except AttributeError:
        return None
    return found if found.overloads() else None


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _given(function: Any, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call: those that have no name, and the others by name, defaults included."""
    signature = _signature(function)
    if signature is None:
        return list(args), dict(kwargs)
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        if function.__name__ == "einsum" and all(isinstance(x, Tensor) for x in args[1:]):
            return [], {"equation": args[0], "tensors": list(args[1:])}
        return list(args), dict(kwargs)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return list(args), dict(kwargs)
    bound.apply_defaults()
    variable = {p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD}
    return [], {key: value for key, value in bound.arguments.items() if key not in variable}


def _ordered(packet: Any, args: list[Any], given: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The schema of the first operator that takes the arguments, best without rest, and they in its
    order; else None, and they as they were given.
    """
    overloads = packet.overloads() if packet is not None else ()
    for whole in (True, False):
        for overload in sorted(overloads, key=lambda name: name != "default"):
            if "out" in overload:
                continue
            schema = getattr(packet, overload)._schema
            chosen = _matched(schema, args, given, whole)
            if chosen is not None:
                return schema, chosen
    return None, [*args, *given.values()]


def _matched(schema: Any, args: list[Any], given: dict[str, Any], whole: bool) -> list[Any] | None:
    """The arguments in a schema's order; None where it does not take them, or with `whole` where
    it leaves some.
    """
    chosen, rest, left = [], list(args), dict(given)
    for argument in schema.arguments:
        names = (argument.name, *_ARGUMENTS.get(argument.name, ()))
        name = next((name for name in names if name in left), None)
        value: Any
        of_ints = argument.type.base in ("int", "SymInt") and argument.type.is_list
        if rest and not argument.kwarg_only:
            if of_ints and all(type(x) is int for x in rest) and len(rest) > 1 and whole:
                value, rest = rest, []  # sizes, one by one
            else:
                value = rest.pop(0)
        elif name is not None:
            value = left.pop(name)
        elif argument.has_default_value():
            value = argument.default_value
        elif argument.name == "cudnn_enabled":
            value = True
        else:
            return None
        if str(argument.type) == "Tensor" and not isinstance(value, Tensor):
            return None
        if whole and not argument.type.takes(value) and value is not None:
            return None
        if of_ints and type(value) is int:
            value = [value] * (argument.N or 1)
        if argument.name == "pin_memory" and value is None:
            value = False
        if argument.name == "device" and value is None and argument.kwarg_only:
            value = device("cpu")
        chosen.append(value)
    if whole and (rest or any(value is not None for value in left.values())):
        return None
    return chosen


def recurrent(state: TracingState, module: Module) -> list[Any]:
    """Hooks that record a recurrent layer or cell as one operator."""
    if not isinstance(module, (RNNBase, RNNCellBase)):
        return []

    def before(module: Any, args: Any) -> None:
        state.quiet += 1

    def after(module: Any, args: Any, kwargs: Any, result: Any) -> None:
        state.quiet -= 1
        if not state.quiet:
            state.record(*_recurrent(module, *args, **kwargs), tree_flatten(result)[0])

    return [
        module.register_forward_pre_hook(before, prepend=True),
        module.register_forward_hook(after, with_kwargs=True),
    ]


def _recurrent(module: Any, input: Any, hx: Any = None) -> tuple[str, list[Any]]:
    """The operator of a recurrent layer or cell, and its arguments."""
    weights = [p for p in module._parameters.values() if p is not None]
    if isinstance(module, RNNCellBase):
        kind = {"LSTMCell": "lstm_cell", "GRUCell": "gru_cell"}.get(
            module._get_name(), f"rnn_{getattr(module, 'nonlinearity', '')}_cell"
        )
        kept = module._parameters
        four = [
            kept.get(f"{what}_{which}") for what in ("weight", "bias") for which in ("ih", "hh")
        ]
        return kind, [input, list(hx) if isinstance(hx, tuple) else hx, *four]
    if not isinstance(input, Tensor):
        raise UnsupportedError("torch.jit does not record recurrent layers on packed sequences")
    if hx is None:
        count = module.num_layers * (2 if module.bidirectional else 1)
        rows = input.shape[0 if module.batch_first else 1] if input.dim() == 3 else None
        sizes = [count, module.hidden_size] if rows is None else [count, rows, module.hidden_size]
        hx = FUNCTIONS["torch"]["zeros"](sizes, dtype=input.dtype)
        hx = (hx, hx) if module.mode == "LSTM" else hx
    rest = [bool(module.bias), module.num_layers, module.dropout, module.training]
    rest += [module.bidirectional, module.batch_first]
    hidden = list(hx) if isinstance(hx, tuple) else hx
    return module.mode.lower(), [input, hidden, weights, *rest]


def returned_value(state: TracingState, result: Any) -> Value:
    """The value that stands for what a run returned."""
    if isinstance(result, Tensor):
        return state.value_of(result)
    state.at = ""
    parts = [returned_value(state, x) for x in result] if isinstance(result, (tuple, list)) else []
    if isinstance(result, dict):
        for key, x in result.items():
            parts += [state.value_of(key), returned_value(state, x)]
        node = state._add("prim::DictConstruct", parts)
        return state.make(node, Type.named("Dict(str, Tensor)"))
    kind = "List" if isinstance(result, list) else "Tuple"
    node = state._add(f"prim::{kind}Construct", parts)
    inside = ", ".join(str(part.type()) for part in parts)
    return state.make(node, Type.named("Tensor[]" if kind == "List" else f"({inside})"))


_running: list[TracingState] = []


def tracing_state() -> TracingState | None:
    """What is recorded at this moment."""
    return _running[-1] if _running else None


def _get_trace_graph(
    f: Any,
    args: Any = (),
    kwargs: Any = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """Run a module or function, and return the graph of its operators and what it returned.

    >>> import pellucid as torch
    >>> graph, out = torch.jit._get_trace_graph(torch.nn.Linear(2, 1), torch.ones(3, 2))
    >>> [node.kind() for node in graph.nodes()], [v.type().sizes() for v in graph.outputs()]
    (['aten::linear'], [[3, 1]])
    """
    args = args if isinstance(args, tuple) else (args,)
    state = TracingState()
    given = [x for x in tree_flatten((args, kwargs or {}))[0] if isinstance(x, Tensor)]
    own = list(f.state_dict(keep_vars=True).values()) if isinstance(f, Module) else []
    for x in [*given, *own]:
        if isinstance(x, Tensor):
            state.make(state.graph._params, x)
    hooks = [x for m in (f.modules() if isinstance(f, Module) else ()) for x in recurrent(state, m)]
    _running.append(state)
    try:
        with _Recording(state):
            result = f(*args, **(kwargs or {}))
    finally:
        _running.pop()
        for hook in hooks:
            hook.remove()
    flat = [x for x in tree_flatten(result)[0] if isinstance(x, Tensor)]
    whole = returned_value(state, flat[0] if len(flat) == 1 else tuple(flat))
    returned = Node("prim::Return", "", [whole])
    state.graph._return = returned
    rest = (args,) if return_inputs else ()
    return state.graph, result, *rest, *((args,) if _return_inputs_states else ())
