"""Convolution: direct tiles, vectors of channels, Winograd."""
