"""Machine code: LLVM IR as text, compiled in the process and kept on disk, and the worker threads.
Nothing here knows tensors.
"""
