"""Losses of `nn.functional`."""
