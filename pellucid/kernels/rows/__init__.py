"""Whole rows at once: softmax, losses of rows, norms, attention."""
