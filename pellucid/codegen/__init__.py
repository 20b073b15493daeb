"""Native kernels for the CPU, generated as LLVM IR and compiled in-process; see README.md for what each guarantees."""
