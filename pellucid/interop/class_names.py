"""What classes say about where they are defined, while `torch` means Pellucid: PyTorch's modules.

`print(type(x))`, a pickle, a configuration that names a class by its path
("torch.nn.modules.activation.Tanh") are the same with PyTorch and here, so what one wrote the other
reads.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType

_HOME = __name__.partition(".")[0]
# Layers without a counterpart; what PyTorch has of their classes stands in `_MOVED`.
_OWN = frozenset(
    "api aten check cli compiler config core data datasets debug devices dtypes errors interop ir kernels llvm ops scalar shapes".split()
)
_GRAD_MODES = dict.fromkeys(
    "enable_grad inference_mode no_grad set_grad_enabled".split(), "autograd.grad_mode"
)
_AT_TOP = dict.fromkeys("SymBool SymFloat SymInt Tag AcceleratorError OutOfMemoryError".split(), "")
# Modules whose classes PyTorch has elsewhere: one place for all of them, or one for each class.
_MOVED: dict[str, str | dict[str, str]] = {
    "api.edges": "autograd.graph",
    "api.overriding": dict.fromkeys(
        ("DisableTorchFunction", "DisableTorchFunctionSubclass", "_EnableTorchFunction"), "_C"
    ),
    "api.symbols": _AT_TOP,
    "aten.fake": "_subclasses.fake_tensor",
    "aten.modes": "utils._python_dispatch",
    "aten.overload": dict.fromkeys(("OpOverload", "OpOverloadPacket"), "_ops") | _AT_TOP,
    "core.function": "autograd.function",
    "core.modes": _GRAD_MODES,
    "core.tape": {"RemovableHandle": "utils.hooks"},
    "core.tensor": {"Parameter": "nn.parameter", "Tensor": ""},
    "data.dataloader": "utils.data.dataloader",
    "data.dataset": "utils.data.dataset",
    "data.distributed": "utils.data.distributed",
    "data.loading.iterators": "utils.data.dataloader",
    "data.sampler": "utils.data.sampler",
    "distributions._constraint": "distributions.constraints",
    "distributions._transform": "distributions.transforms",
    "distributions._transforms_elementwise": "distributions.transforms",
    "distributions._transforms_vector": "distributions.transforms",
    "errors": _AT_TOP | {"_LinAlgError": "_C"},
    "interop.torch_alias": {"TorchVersion": "torch_version"},
    "fx._codegen": "fx.graph",
    "nn._packing": "nn.utils.rnn",
    "nn.attention._block_mask": "nn.attention.flex_attention",
    "nn.modules._state": {"_IncompatibleKeys": "nn.modules.module"},
    "nn.modules.attention": "nn.modules.activation",
    "nn.modules.loss": dict.fromkeys(
        ("CosineSimilarity", "PairwiseDistance"), "nn.modules.distance"
    ),
    "nn.modules.pixelshuffle": {"ChannelShuffle": "nn.modules.channelshuffle"},
    "ops.linalg.grouped": "nn.functional",
    "ops.shape.storages": "storage",
    "optim._adafactor": {"Adafactor": "optim"},
    "optim._composite": "optim.lr_scheduler",
    "optim._cyclic": "optim.lr_scheduler",
    "optim._muon": {"Muon": "optim"},
    "optim._schedule": "optim.lr_scheduler",
    "profiler._profile": {"record_function": "autograd.profiler"}
    | dict.fromkeys(("ProfilerAction", "profile"), "profiler.profiler"),
    "profiler._table": "autograd.profiler_util",
    "sparse._create": "sparse",
    "utils.tensorboard._writer": "utils.tensorboard.writer",
}
# PyTorch's modules that are none here -> where their classes are
found: dict[str, list[ModuleType]] = {}


def rename_classes(module: ModuleType) -> None:
    """Have the classes of a module of this library name PyTorch's module as theirs, where PyTorch
    has them.
    """
    own = _HOME if module.__name__ == "torch" else module.__name__
    path = own.removeprefix(_HOME).removeprefix(".")
    for kind in list(vars(module).values()):
        if not isinstance(kind, type) or getattr(kind, "__module__", None) != own:
            continue
        moved = _MOVED.get(path)
        if isinstance(moved, dict):
            place = moved.get(kind.__name__)
        else:
            place = None if kind.__name__.startswith("_") else moved
        if place is None:
            if path.partition(".")[0] in _OWN or moved and not isinstance(moved, dict):
                continue
            place = path
        name = f"torch.{place}" if place else "torch"
        try:
            # their names are known here alone, and subclasses of programs pass them on
            if place != path or place.startswith(("nn.", "distributions.")):
                _evaluate(kind, module)
            kind.__module__ = name
        except (AttributeError, TypeError, NameError):
            # a class that does not let its attributes be set, names for type checkers
            continue
        if place == path:
            sys.modules.setdefault(name, module)
        elif module not in found.setdefault(name, []):
            found[name].append(module)


def _evaluate(kind: type, module: ModuleType) -> None:
    """Put what annotations of a class mean in their place, but for names of type checkers."""
    said = vars(kind).get("__annotations__", {})
    for name, value in said.items():
        if isinstance(value, str):
            with contextlib.suppress(NameError, TypeError):
                said[name] = eval(value, vars(module), dict(vars(kind)))
