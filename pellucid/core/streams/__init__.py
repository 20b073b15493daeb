"""Random numbers: the same as PyTorch's for the same seed."""
