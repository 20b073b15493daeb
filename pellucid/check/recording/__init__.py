"""How a program is watched: its calls turned into events, on Pellucid or on PyTorch."""
