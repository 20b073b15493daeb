"""PyTorch's public API: Tensor methods, functions with PyTorch's names, and namespaces."""

from ..core.display import nodes as nodes
from . import array_api as array_api
from . import convert as convert
from . import display as display
from . import gradients as gradients
from . import layouts as layouts
from . import notebook as notebook
from . import settings as settings
from . import sharing as sharing
from . import symbols as symbols
from .create import borrowed as borrowed
from .create import construct as construct
from .create import copies as copies
from .create import legacy as legacy
from .create import new as new
from .messages import facts as facts

from . import attach as attach  # isort: skip (after everything that registers)
from . import overriding as overriding  # isort: skip
