"""Watch a program: turn its calls into events, on Pellucid or on PyTorch."""
