"""What the inputs and outputs of an exported graph stand for (`torch.export.graph_signature`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Any

__all__ = [
    "ConstantArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymIntArgument",
    "TensorArgument",
]


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """An integer that depends on sizes, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """A number, a string or None, with its value when the program was exported."""

    name: str
    value: int | float | bool | str | None


ArgumentSpec = TensorArgument | SymIntArgument | ConstantArgument


class InputKind(Enum):
    """What an input of the graph is."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """What an output of the graph is."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass
class InputSpec:
    """One input of the graph.

    Attributes:
        kind: what it is.
        arg: the node that stands for it.
        target: the name of the parameter, buffer or constant; None for inputs of the program.
        persistent: for buffers, whether they are part of the state dict.
    """

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """One output of the graph.

    Attributes:
        kind: what it is.
        arg: the node that it is the value of.
        target: what it is written back to; None for results of the program.
    """

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass
class ExportBackwardSignature:
    """Which outputs of a program that computes gradients are gradients, and of what.

    >>> import pellucid as torch
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> program.graph_signature.backward_signature is None  # forward programs have none
    True
    """

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order.

    >>> import pellucid as torch
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> signature = program.graph_signature
    >>> signature.inputs_to_parameters
    mappingproxy({'p_weight': 'weight', 'p_bias': 'bias'})
    >>> signature.user_inputs, signature.user_outputs
    (('input',), ('linear',))
    """

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> list[str]:
        return [str(s.target) for s in self.input_specs if s.kind is kind]

    def _by_name(self, kind: InputKind) -> Mapping[str, str]:
        return MappingProxyType(
            {s.arg.name: str(s.target) for s in self.input_specs if s.kind is kind}
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters in the module."""
        return tuple(self._targets(InputKind.PARAMETER))

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers in the module."""
        return tuple(self._targets(InputKind.BUFFER))

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that are not part of the state dict."""
        return tuple(
            [
                str(s.target)
                for s in self.input_specs
                if s.kind is InputKind.BUFFER and s.persistent is False
            ]
        )

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the constants."""
        return tuple(self._targets(InputKind.CONSTANT_TENSOR))

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The nodes of the program's own inputs; the values of those that are not tensors."""
        return tuple([_shown(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT])

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The nodes of the program's results; the values of those that are not tensors."""
        return tuple([_shown(s.arg) for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT])

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Nodes of parameters, with the parameters' names in the module."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Nodes of buffers, with the buffers' names in the module."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Nodes of constants, with the constants' names."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Results that are written back to buffers: none, graphs write in place."""
        return self._written(OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Results that are written back to inputs: none, graphs write in place."""
        return self._written(OutputKind.USER_INPUT_MUTATION)

    def _written(self, kind: OutputKind) -> Mapping[str, str]:
        return MappingProxyType(
            {s.arg.name: str(s.target) for s in self.output_specs if s.kind is kind}
        )

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """None: programs compute no gradients."""
        return None

    @property
    def assertion_dep_token(self) -> None:
        """None: assertions are nodes like others."""
        return None

    def replace_all_uses(self, old: str, new: str) -> None:
        """Another name for a node, wherever it is named.

        Raises:
            AssertionError: a name is not a string.
        """
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError("expected the names of two nodes")
        specs: list[Any] = [*self.input_specs, *self.output_specs]
        for spec in specs:
            if spec.arg.name == old:
                spec.arg.name = new

    def __str__(self) -> str:
        lines = ["", "# inputs", *map(str, self.input_specs)]
        return "\n".join([*lines, "", "# outputs", *map(str, self.output_specs), ""])


def _shown(arg: ArgumentSpec) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name
