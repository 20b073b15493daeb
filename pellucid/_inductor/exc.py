"""`torch._inductor.exc`: errors of PyTorch's compiler, for `except`; this one raises others."""

from __future__ import annotations


class OperatorIssue(RuntimeError):
    """An operator that PyTorch's compiler cannot lower."""


class MissingOperatorWithDecomp(OperatorIssue):
    """There is no lowering, but a decomposition."""


class MissingOperatorWithoutDecomp(OperatorIssue):
    """There is neither."""


class LoweringException(OperatorIssue):
    """Lowering an operator failed."""


class SubgraphLoweringException(RuntimeError):
    """Lowering a part of a graph failed."""


class InvalidCxxCompiler(RuntimeError):
    """There is no C++ compiler."""


class CppWrapperCodegenError(RuntimeError):
    """Writing the C++ program failed."""


class CppCompileError(RuntimeError):
    """The C++ compiler failed."""


class CUDACompileError(CppCompileError):
    """CUDA's compiler failed."""


class InductorError(RuntimeError):
    """An error inside of PyTorch's compiler."""
