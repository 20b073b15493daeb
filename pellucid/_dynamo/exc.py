"""What `torch._dynamo` raises, for scripts that catch it."""

from ..compiler import InvalidBackend as InvalidBackend
from ..compiler.function import CompileError
from ..errors import UserError as UserError

TorchDynamoException = CompileError
Unsupported = CompileError
BackendCompilerFailed = CompileError
FailOnRecompileLimitHit = CompileError
RecompileLimitExceeded = CompileError
InternalTorchDynamoError = CompileError


class TensorifyScalarRestartAnalysis(Exception):  # noqa: N818 (PyTorch's name)
    """Never raised: nothing is traced anew for a number."""


class TorchRuntimeError(RuntimeError):
    """What running an operation without values raises in PyTorch: never raised here."""
