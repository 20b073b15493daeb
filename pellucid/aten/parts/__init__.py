"""Operators that PyTorch's own functions are made of, and those that follow from others."""
