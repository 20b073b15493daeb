"""Random streams: PyTorch's numbers for the same seed."""
