"""Modules as functions of their parameters: `functional_call` and `stack_module_state`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.modes import no_grad
from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors in place of its parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by qualified name; several dictionaries are taken
            together.
        tie_weights: a tensor given for one name of a shared parameter stands for all its names.
        strict: the names must be exactly those of the module.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> new = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, new, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
            )
        names = [k for d in parameter_and_buffer_dicts for k in d]
        repeated = [k for n, k in enumerate(names) if k in names[:n]]
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        tensors = {k: v for d in parameter_and_buffer_dicts for k, v in d.items()}
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(parameter_and_buffer_dicts)}"
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def reparametrized(
    module: Any, tensors: dict[str, Any], tie_weights: bool, strict: bool
) -> Iterator[None]:
    """Inside the block the module holds the given tensors. Names that it does not have become
    attributes for as long.

    Raises:
        RuntimeError: with `strict`, missing or unexpected names. ValueError: with `tie_weights`,
            two tensors for a parameter that has several names. TypeError: something that is no
            tensor. AttributeError: a submodule that is not there.
    """
    if not isinstance(tensors, dict):
        raise AttributeError(f"'{type(tensors).__name__}' object has no attribute 'keys'")
    given = _with_all_names(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, given)
    originals: dict[str, Any] = {}
    try:
        for name, value in given.items():
            originals[name] = _swap(module, name, value)
        yield
    finally:
        for name, original in reversed(originals.items()):
            now = _swap(module, name, original)
            if name in tensors and now is not given[name] and now is not _MISSING:
                tensors[name] = now  # a buffer that the call replaced


_MISSING = object()


def _swap(module: Any, path: str, value: Any) -> Any:
    """Give a parameter, a buffer or an attribute another value; returns the old one."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    if value is not _MISSING and value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for table in (owner._parameters, owner._buffers):
        if name in table:
            original = table[name]
            if value is _MISSING:  # an attribute for the call that was a Parameter
                delattr(owner, name)
            else:
                table[name] = value
            return original
    # of a parametrized module this is what a property computes
    original = getattr(owner, name, _MISSING)
    if not (original is _MISSING or original is None or isinstance(original, Tensor)):
        raise TypeError(f"attribute `{name}`: {original} is not an instance of torch.Tensor")
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    return original


def _named_tensors(module: Any) -> dict[str, Any]:
    """All parameters and buffers; shared ones under each of their names."""
    return dict(module.named_parameters(remove_duplicate=False)) | dict(
        module.named_buffers(remove_duplicate=False)
    )


def _with_all_names(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """The given tensors under all names of the parameters that they replace."""
    groups: dict[int, list[str]] = {}
    for name, tensor in _named_tensors(module).items():
        groups.setdefault(id(tensor), []).append(name)
    given = dict(tensors)
    for group in groups.values():
        chosen = [name for name in group if name in tensors]
        if len({id(tensors[name]) for name in chosen}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(chosen)}, which are tied. Consider using tie_weights=False"
            )
        for name in group if chosen else ():
            given[name] = tensors[chosen[0]]
    return given


def _check_names(module: Any, given: dict[str, Any]) -> None:
    names = _named_tensors(module).keys()
    lists = {"Unexpected": given.keys() - names, "Missing": names - given.keys()}
    parts = [
        f"{word} key(s): {', '.join(map(repr, sorted(keys)))}."
        for word, keys in lists.items()
        if keys
    ]
    if parts:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts)
        )


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """(parameters, buffers) of several modules of one class, stacked by name in a new first
    dimension.

    Raises:
        RuntimeError: no module, different classes or modes, or different `requires_grad`.

    >>> import pellucid as torch
    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = torch.func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([4, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {k: _stacked([p[k] for p in params], k) for k in params[0]},
        {k: _stacked([b[k] for b in buffers], k) for k in buffers[0]},
    )


def _stacked(tensors: list[Tensor], name: str) -> Tensor:
    flags = {t.requires_grad for t in tensors}
    if len(flags) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    with no_grad():
        result: Tensor = F.stack(*tensors, dim=0)
    if flags.pop():
        result.requires_grad = True
    return result


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make batch normalizations below a module use the batch's own statistics, in place: they then
    write no buffers.

    Buffers cannot be written under `vmap`, where they are not mapped. Returns the module.

    >>> import pellucid as torch
    >>> net = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(3)))
    >>> net[0].running_mean is None
    True
    """
    for module in root.modules():
        if any(kind.__name__ == "_BatchNorm" for kind in type(module).__mro__):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
