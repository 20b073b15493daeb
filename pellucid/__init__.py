"""Deep learning with PyTorch's API on an engine you can see through."""

from pellucid._version import __version__ as __version__
