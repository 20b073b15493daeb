"""Native code: LLVM IR written as text, compiled inside the process and cached on disk, and the
worker threads that run it. Nothing in this package knows about tensors.
"""
