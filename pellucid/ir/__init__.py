"""The compiler's view of a computation: buffers, strided values in them, and instructions with
everything they read and write.

`program.py` has the data and its text form, `passes.py` what is done to it. Nothing here computes,
and nothing knows LLVM.
"""

from .program import Buffer, Extra, Instruction, Program, Value, ValueRef, VerificationError

__all__ = ["Buffer", "Extra", "Instruction", "Program", "ValueRef", "Value", "VerificationError"]
