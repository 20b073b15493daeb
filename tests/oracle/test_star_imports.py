"""`from torch.X import *` gives the names that PyTorch lists, less those that are missing, and none of
the modules and types that a file imports for itself.
"""

import importlib
import pkgutil
import types
import warnings

import pytest

torch = pytest.importorskip("torch")

# Not held here: modules of one machine's devices, of compilers, and those whose functions attach themselves.
LEFT = (
    "accelerator backends cuda mps distributed fft mtia special signal xpu onnx contrib return_types version quantization "
    "ao.quantization nn.modules.activation nn.modules.conv nn.modules.module multiprocessing.spawn nn.qat nn.quantized nn.intrinsic"
).split()


def listed(package, prefix, depth=0):
    for found in pkgutil.iter_modules(package.__path__):
        name = f"{prefix}{found.name}"
        if found.name.startswith("_") or any(name == n or name.startswith(f"{n}.") for n in LEFT):
            continue
        try:
            ours = importlib.import_module(f"pellucid.{name}")
            theirs = importlib.import_module(f"torch.{name}")
        except ImportError:
            continue
        if hasattr(theirs, "__all__"):
            yield name, theirs, ours
        if found.ispkg and depth < 3:
            yield from listed(theirs, f"{name}.", depth + 1)


def own(module):
    """Whether a module has a name, which is no module."""
    return lambda name: not isinstance(getattr(module, name, module), types.ModuleType)


def test_star_imports_give_pytorchs_names():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = list(listed(torch, ""))
    assert len(modules) > 100
    without = [name for name, _, ours in modules if "__all__" not in vars(ours)]
    missing = {
        name: left
        for name, theirs, ours in modules
        if (left := set(filter(own(ours), theirs.__all__)) - set(vars(ours).get("__all__", ())))
    }
    assert without == [] and missing == {}
