"""Pellucid under PyTorch's name, for programs that find this folder on their path.

`pellucid run` puts it on the path of the processes that its program starts, and `pellucid stand-in
install` copies it into an environment (`pellucid stand-in remove` takes it away).
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _become() -> None:
    """Put Pellucid in this module's place; PyTorch, where Pellucid is not installed and PyTorch is."""
    del sys.modules["torch"]
    try:
        from pellucid.interop import as_torch
    except ImportError as error:
        # a Python of another environment, which was given the path of this one
        own = os.path.dirname(os.path.dirname(__file__))
        spec = PathFinder.find_spec("torch", [folder for folder in sys.path if folder != own])
        if spec is None or spec.loader is None:
            raise ImportError(
                "torch is Pellucid's stand-in here, and Pellucid is not installed: pip install pellucid"
            ) from error
        sys.modules["torch"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["torch"])
    else:
        as_torch()


if __name__ == "torch":
    _become()
