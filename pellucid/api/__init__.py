"""PyTorch's surface: Tensor methods attached from the registry, torch-named composites, namespaces."""

from . import attach as attach
