"""Functions of `torch.special`."""
