"""Pooling of windows: maxima, means, adaptive sizes."""
