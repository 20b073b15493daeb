"""The losses of `nn.functional`."""
