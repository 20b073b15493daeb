"""Kernels on whole rows: softmax, losses, norms, attention."""
