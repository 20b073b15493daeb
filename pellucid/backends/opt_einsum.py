"""The package opt_einsum, which finds the order of products in `einsum`. It is always there, and
always asked.

>>> import pellucid as torch
>>> torch.backends.opt_einsum.is_available()
True
"""

from __future__ import annotations

# Scripts may set these, as in PyTorch; the order of products is opt_einsum's own choice in any
# case.
enabled = True
strategy = "auto"


def is_available() -> bool:
    """Whether the package is there: it comes with the installation."""
    return True
