"""What `torch._dynamo` raises, for scripts that catch it."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ..compiler import InvalidBackend as InvalidBackend
from ..compiler.function import CompileError
from ..errors import UserError as UserError

TorchDynamoException = CompileError
Unsupported = CompileError
BackendCompilerFailed = CompileError
FailOnRecompileLimitHit = CompileError
RecompileLimitExceeded = CompileError
InternalTorchDynamoError = CompileError


class UserErrorType(Enum):
    """Kinds of `UserError`."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class KeyErrorMsg:
    """A key whose text shows as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __str__(self) -> str:
        return str(self.value)


# PyTorch's other classes and their bases. What compiles here raises none of them.
_NEVER_RAISED = {
    "RecompileError": "",
    "ResetRequired": "",
    "PackageError": "",
    "SkipFrame": "",
    "StepUnsupported": "",
    "TorchRuntimeError": "",
    "UncapturedHigherOrderOpError": "",
    "UnknownPropertiesDuringBackwardTrace": "",
    "UnsafeScriptObjectError": "",
    "CondOpArgsMismatchError": "",
    "InfiniteGeneratorError": "",
    "ResumePrologueTracingError": "",
    "ShortenTraceback": "",
    "RestartAnalysis": "",
    "AutogradGradRestartAnalysis": "RestartAnalysis",
    "CompileCollectiveRestartAnalysis": "RestartAnalysis",
    "RequiresGradRestartAnalysis": "RestartAnalysis",
    "SpeculationRestartAnalysis": "RestartAnalysis",
    "TensorifyScalarRestartAnalysis": "RestartAnalysis",
    "UnspecializeRestartAnalysis": "RestartAnalysis",
    "ObservedException": "",
    "ObservedAttributeError": "ObservedException",
    "ObservedGeneratorExit": "ObservedException",
    "ObservedLookupError": "ObservedException",
    "ObservedNotImplementedError": "ObservedException",
    "ObservedRuntimeError": "ObservedException",
    "ObservedTypeError": "ObservedException",
    "ObservedUserStopIteration": "ObservedException",
    "ObservedIndexError": "ObservedLookupError",
    "ObservedKeyError": "ObservedLookupError",
}
for _name, _base in _NEVER_RAISED.items():
    _above = globals()[_base] if _base else TorchDynamoException
    _body = {"__module__": __name__, "__doc__": "A class of PyTorch's compiler: never raised here."}
    globals()[_name] = type(_name, (_above,), _body)
