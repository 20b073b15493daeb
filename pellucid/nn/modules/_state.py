"""`state_dict` and `load_state_dict` of Module, with their hooks."""

from __future__ import annotations

import itertools
import os
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import ref

from ...core.modes import no_grad
from ...core.tape import RemovableHandle, register
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, OperationError, warn
from ..parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _LoadPreHook:
    """A load hook that may be given the module, which it must not keep alive."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self.module = ref(module) if module is not None else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise OperationError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        result = {"hook": self.hook, "with_module": self.with_module}
        if self.module is not None:
            result["module"] = self.module()
        return result

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        self.module = ref(state["module"]) if state.get("module") is not None else None


def _load_below(
    module: Any,
    part: Any,
    prefix: str,
    metadata: Any,
    assign: bool,
    notes: tuple[list[str], list[str], list[str]],
) -> None:
    """Load a module and those below it; `notes` takes the names that are missing, those that are
    unexpected, and errors.
    """
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata = {**local_metadata, "assign_to_params_buffers": True}
    module._load_from_state_dict(part, prefix, local_metadata, True, *notes)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            _load_below(
                child,
                {k: v for k, v in part.items() if k.startswith(below)},
                below,
                metadata,
                assign,
                notes,
            )
    incompatible = _IncompatibleKeys(*notes[:2])
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                "incompatible_keys need to be modified, it should be done inplace."
            )


class StateMixin:
    """Saving and loading of parameters and buffers."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _version: int
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    # ---- saving ----------------------------------------------------------------------------------
    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """A dictionary from dotted names to parameters and persistent buffers, as `torch.save` stores
        them.

        The tensors share memory with the module. To keep a snapshot, copy it:
        `copy.deepcopy(model.state_dict())`.

        Args:
            destination: a dictionary to add to.
            prefix: put before each name.
            keep_vars: return the tensors themselves instead of detached ones.

        >>> import pellucid as torch
        >>> list(torch.nn.BatchNorm1d(2).state_dict())
        ['weight', 'bias', 'running_mean', 'running_var', 'num_batches_tracked']
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and not keep_vars else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise OperationError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own tensors into `destination`; subclasses may override it."""
        for name, value in self._own_state_items():
            destination[prefix + name] = value if keep_vars else _detached(value)
        if self._defines_extra_state("get_extra_state"):
            destination[f"{prefix}{_EXTRA_STATE_KEY_SUFFIX}"] = self.get_extra_state()

    def _own_state_items(self) -> Iterator[tuple[str, Any]]:
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                yield name, value

    def _defines_extra_state(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(StateMixin, method)

    def get_extra_state(self) -> Any:
        """More to save under `_extra_state`; a subclass that defines it defines `set_extra_state`
        as well.
        """
        raise OperationError("get_extra_state() is called only where a subclass defines it")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise OperationError("set_extra_state() is called only where a subclass defines it")

    # ---- loading ---------------------------------------------------------------------------------
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy values by name into the parameters and buffers.

        Args:
            state_dict: what `state_dict` returned, or what `torch.load` read.
            strict: raise an error for missing and unexpected names. Default: True.
            assign: use the given tensors themselves instead of copying their values. Default: False.

        Returns:
            A named tuple of `missing_keys` and `unexpected_keys`.

        Raises:
            RuntimeError: names (with `strict`) or shapes do not match; everything that matched has
                been copied.
        """
        if not isinstance(state_dict, Mapping):
            path = isinstance(state_dict, (str, os.PathLike))
            raise ArgumentTypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}.",
                hint="read the file first: load_state_dict(torch.load(path))"
                if path
                else "for another module's weights: load_state_dict(other.state_dict())"
                if hasattr(state_dict, "state_dict")
                else None,
            )
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        values: Any = OrderedDict(state_dict)
        if metadata is not None:
            values._metadata = metadata

        _load_below(self, values, "", metadata, assign, (missing, unexpected, errors))
        if strict:
            if unexpected:
                errors.insert(
                    0,
                    "Unexpected key(s) in state_dict: {}. ".format(
                        ", ".join(f'"{k}"' for k in unexpected)
                    ),
                )
            if missing:
                errors.insert(
                    0,
                    "Missing key(s) in state_dict: {}. ".format(
                        ", ".join(f'"{k}"' for k in missing)
                    ),
                )
        if errors:
            raise OperationError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(errors)
                ),
                hint=_loading_hint(missing, unexpected, errors),
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors, noting what is missing or does not fit; subclasses may
        override it.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in list(self._own_state_items()):
            key = prefix + name
            if key in state_dict:
                self._load_one_tensor(name, key, value, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = f"{prefix}{_EXTRA_STATE_KEY_SUFFIX}"
        if self._defines_extra_state("set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, *rest = key[len(prefix) :].split(".", 1)
                    known = head in self._modules if rest else head in dict(self._own_state_items())
                    if not known:
                        unexpected_keys.append(key)

    def _load_one_tensor(
        self, name: str, key: str, value: Any, given: Any, assign: bool, errors: list[str]
    ) -> None:
        if not isinstance(given, Tensor) and not hasattr(type(given), "__torch_function__"):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received '
                f"{type(given)}"
            )
            return
        if not is_lazy(value):
            # files of very old versions
            if value.dim() == 0 and given.dim() == 1 and len(given) == 1:
                given = given[0]
            if tuple(given.shape) != tuple(value.shape):
                errors.append(
                    f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model is "
                    f"{value.shape}."
                )
                return
        if value.is_meta and not given.is_meta and not assign:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a "
                "no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the "
                "module instead of copying them in place?)"
            )
        try:
            with no_grad():
                if assign:
                    if isinstance(value, Parameter):
                        if not isinstance(given, Parameter):
                            given = Parameter(given, requires_grad=value.requires_grad)
                        else:
                            given.requires_grad_(value.requires_grad)
                        self._parameters[name] = given
                    else:
                        self._buffers[name] = given
                else:
                    value.copy_(given)
        except Exception as error:
            errors.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {value.size()} and whose dimensions in '
                f"the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    # ---- hooks -----------------------------------------------------------------------------------
    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change
        the dictionary in place.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise OperationError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`."""
        return register(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected,
        errors)` before loading.
        """
        return register(self._load_state_dict_pre_hooks, _LoadPreHook(hook, self))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return register(
            self._load_state_dict_pre_hooks, _LoadPreHook(hook, self if with_module else None)
        )

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists in place."""
        return register(self._load_state_dict_post_hooks, hook)


def _detached(value: Tensor) -> Any:
    return value if is_lazy(value) else value.detach()


def _loading_hint(missing: list[str], unexpected: list[str], errors: list[str]) -> str | None:
    """The likely cause: a prefix that a wrapper put before every name, another structure, or other
    sizes.
    """
    if missing and unexpected:
        long, short = sorted(
            (unexpected[0], next((m for m in missing if m.endswith(unexpected[0])), missing[0])),
            key=len,
            reverse=True,
        )
        prefix = long.removesuffix(short)
        if prefix != long and prefix.endswith("."):
            if all(k.startswith(prefix) and k.removeprefix(prefix) in missing for k in unexpected):
                return (
                    f"every name in the checkpoint begins with {prefix!r}; strip it with "
                    f"{{k.removeprefix({prefix!r}): v for k, v in state.items()}}"
                )
            if all(prefix + k in missing for k in unexpected):
                return f"every name in the model begins with {prefix!r}: {{{prefix!r} + k: v for k, v in state.items()}}, or load into the part"
        return "the checkpoint was saved from a model with other layers or names: build the same model, or load what fits with strict=False"
    if any(text.startswith("size mismatch") for text in errors):
        return "the checkpoint was saved from a model with other sizes: build the model with the sizes in the checkpoint, or leave these keys out"
    if missing:
        return "the checkpoint lacks tensors of this model: was it saved from an older or smaller model? strict=False keeps their present values"
    if unexpected:
        return "the checkpoint has tensors that this model lacks: was it saved from a larger model? strict=False leaves them out"
    return None
