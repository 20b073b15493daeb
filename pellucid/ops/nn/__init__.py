"""Layers' operations: convolution, norms, attention, losses."""
