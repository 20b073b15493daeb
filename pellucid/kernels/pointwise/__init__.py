"""Loops over elements: element-wise operations, fused chains of them, and reductions."""
