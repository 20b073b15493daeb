"""Build error messages: the facts of the failed call, PyTorch's signatures, the likely fix, and the
source line.
"""
