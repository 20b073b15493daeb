"""The compiler's intermediate representation: buffers, strided values in them, and instructions
with everything that they read and write.

`program.py` has the data structures and their text form, and `compiler.passes` transforms them.
Nothing in this package computes, and nothing knows about LLVM.
"""

from .program import Buffer, Extra, Instruction, Program, Value, ValueRef, VerificationError

__all__ = ["Buffer", "Extra", "Instruction", "Program", "ValueRef", "Value", "VerificationError"]
