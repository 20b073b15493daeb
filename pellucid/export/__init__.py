"""`torch.export`: a module's forward as a graph of operators with its state, which runs, prints, and
is stored without pickle.
"""

from __future__ import annotations

from typing import Any

from .._pytree import register_dataclass, tree_flatten
from ..errors import ArgumentValueError, UserError
from ..nn import Module
from .capture import input_names, state_of
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims, dynamic_sizes, names
from .exported_program import (
    CallSignature,
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    default_decompositions,
    program_of,
)
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .read import load
from .trace import trace
from .write import save

__all__ = [
    "AdditionalInputs",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
]


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Record a module's forward for example inputs as an `ExportedProgram`.

    The forward runs several times on copies of the inputs and buffers: with other values, to see
    that the graph does not depend on them, and with other dynamic sizes, to see what follows from
    them.

    Args:
        mod: the module; it is recorded in the mode it is in (call `.eval()` first for inference).
        args: the positional arguments, tensors in tuples, lists and dicts.
        kwargs: the keyword arguments.
        dynamic_shapes: by the argument's name, or in the arguments' structure: None, or for each
            dimension that may change a `Dim` (or `Dim.AUTO`, `Dim.DYNAMIC`). Other sizes are fixed.
        strict: accepted; recording runs the function in either case.
        preserve_module_call_signature: accepted; calls of submodules are in the graph either way.
        prefer_deferred_runtime_asserts_over_guards: accepted; sizes are checked when the program runs.

    Raises:
        UserError: what the program does depends on a size that should be free.
        GuardOnDataDependentSymNode: what it does depends on the values of the inputs.
        ValueError: `mod` is not a module.

    >>> import pellucid as torch
    >>> from pellucid.export import Dim, export
    >>> layer = torch.nn.Linear(2, 1)
    >>> program = export(layer, (torch.ones(3, 2),), dynamic_shapes={"input": {0: Dim("batch")}})
    >>> torch.equal(program.module()(torch.ones(5, 2)), layer(torch.ones(5, 2)))
    True
    """
    if not isinstance(mod, Module):
        raise ArgumentValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
        )
    if not isinstance(args, tuple):
        raise UserError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    kwargs = dict(kwargs or {})
    leaves, spec = tree_flatten((args, kwargs))
    dynamic = dynamic_sizes(mod, args, kwargs, dynamic_shapes)
    state = state_of(mod)
    traced = trace(mod, state, input_names(mod, args, kwargs), leaves, spec, dynamic)
    call = CallSignature(spec, traced.recording.spec, [*names(mod, args), *kwargs], traced.axes)
    paths = [path for path, _ in mod.named_modules() if path]
    return program_of(traced, state, call, paths, (args, kwargs))


def draft_export(
    mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any
) -> ExportedProgram:
    """The same as `export`. PyTorch's function goes on where `export` fails, and reports; here it raises the same errors as `export`.

    >>> import pellucid as torch
    >>> program = torch.export.draft_export(torch.nn.ReLU(), (torch.ones(2),))
    >>> program.module()(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    return export(mod, args, kwargs, **options)
