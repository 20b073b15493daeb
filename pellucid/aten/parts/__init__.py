"""Operators that are building blocks of PyTorch's own functions, and operators that are derived
from others.
"""
