"""Sparse arrays, and their products."""
