"""Call a module with other tensors in place of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, warn
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the given tensors, by dotted name, instead of its own.

    Args:
        parameters_and_buffers: a dictionary, or several of them; names that are left out keep the
            module's tensors.
        args: positional arguments; a value that is not a tuple is the only argument.
        tie_weights: a tensor that the module has under several names is replaced under all of them.
        strict: refuse missing and unexpected names.
    """
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    given = parameters_and_buffers
    if isinstance(given, (list, tuple)):
        merged: dict[str, Any] = {}
        for part in given:
            repeated = merged.keys() & part.keys()
            if repeated:
                raise ArgumentValueError(
                    f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            merged.update(part)
        given = merged
    if not isinstance(given, dict):
        raise ArgumentTypeError(
            f"Expected parameters_and_buffers to be a dict, but got {type(given).__name__}"
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def _replaced(
    module: Module, given: dict[str, Any], tie_weights: bool, strict: bool
) -> Iterator[None]:
    names = dict(module.named_parameters(remove_duplicate=False)) | dict(
        module.named_buffers(remove_duplicate=False)
    )
    values = _untied(names, given) if tie_weights else dict(given)
    if strict:
        missing, unexpected = names.keys() - values.keys(), values.keys() - names.keys()
        if missing or unexpected:
            parts = [f"Unexpected key(s): {', '.join(sorted(unexpected))}."] * bool(unexpected)
            parts += [f"Missing key(s): {', '.join(sorted(missing))}."] * bool(missing)
            raise OperationError("Error(s) in loading state_dict: " + " ".join(parts))
    undo: list[tuple[Any, str, Any]] = []
    try:
        for name, value in values.items():
            path, _, leaf = name.rpartition(".")
            try:
                owner = module.get_submodule(path)
            except AttributeError:
                owner = None
            table = None
            if owner is not None:
                table = next((t for t in (owner._parameters, owner._buffers) if leaf in t), None)
            if table is None:
                continue  # names that the module does not have are ignored, as in PyTorch
            undo.append((table, leaf, table[leaf]))
            table[leaf] = value
        yield
    finally:
        for table, leaf, value in reversed(undo):
            table[leaf] = value


@contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Inside of the block the module has the given tensors, by dotted name, in place of its own:
    what `functional_call` is made of.
    """
    with _replaced(module, parameters_and_buffers, tie_weights, strict):
        yield


def _untied(names: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """`given` with every other name of each of its tensors added."""
    groups: dict[int, list[str]] = {}
    for name, tensor in names.items():
        groups.setdefault(id(tensor), []).append(name)
    out = dict(given)
    for group in groups.values():
        present = [n for n in group if n in given]
        if not present or len(group) == 1:
            continue
        first = given[present[0]]
        if any(given[n] is not first for n in present):
            raise ArgumentValueError(
                f"functional_call got multiple values for keys {sorted(present)}, which are tied. Consider using tie_weights=False"
            )
        for name in group:
            out[name] = first
    return out
