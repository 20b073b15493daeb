"""Loops over elements: element-wise operations, fused chains and reductions."""
