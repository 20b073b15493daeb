"""Pruning: masks set parts of parameters to zero (`name_orig` and `name_mask`)."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.tensor import Tensor, make_tensor
from ...errors import ArgumentTypeError, ArgumentValueError
from .._functions import T


class BasePruningMethod(ABC):
    """Base class of pruning methods. A subclass defines `PRUNING_TYPE` and `compute_mask(t, default_mask)`.

    `PRUNING_TYPE` says what pruning a second time acts on: "unstructured" (elements that are not pruned yet),
    "structured" (channels that are not pruned yet) or "global" (everything).

    >>> import pellucid as torch
    >>> class BelowOne(torch.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t.abs() >= 1)
    >>> layer = torch.nn.Linear(3, 1)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[0.5, -2.0, 1.0]]))
    >>> _ = BelowOne.apply(layer, "weight")
    >>> layer.weight.tolist(), layer.weight_orig.tolist()
    ([[0.0, -2.0, 1.0]], [[0.5, -2.0, 1.0]])
    """

    _tensor_name: str
    PRUNING_TYPE = "global"

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask (ones are kept) after pruning `t`, of which `default_mask` is pruned already."""

    def apply_mask(self, module: Any) -> Any:
        """The original times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune `module.name`, after other prunings of it."""
        older = None
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                older = hook
                del module._forward_pre_hooks[key]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if older is not None:
            container = older if isinstance(older, PruningContainer) else PruningContainer(older)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is not None:
            if importance_scores.shape != original.shape:
                raise AssertionError(
                    f"importance_scores should have the same shape as parameter {name} of {module}"
                )
        else:
            importance_scores = original
        if older is None:
            param = module._parameters[name]
            module.register_parameter(name + "_orig", param)
            del module._parameters[name]
            default = T.ones_like(param.detach())
        else:
            default = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
        except Exception:
            if older is None:  # the module as it was
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
                module._buffers.pop(name + "_mask", None)
            raise
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default = T.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor the parameter."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, applied in order. A second call of a pruning function creates one.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(4, 1)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    >>> for _ in range(2):
    ...     _ = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
    >>> layer.weight_mask
    tensor([[0., 0., 1., 1.]])
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        for method in args:
            self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one at the end."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise ArgumentTypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ArgumentValueError(
                "Can only add pruning methods acting on the parameter named '"
                f"{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last of the prunings, which acts on what the others have left."""
        method = self._pruning_methods[-1]
        mask: Any = default_mask.to(dtype=t.dtype)
        chosen: Any
        if method.PRUNING_TYPE == "unstructured":
            chosen = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim
            others = tuple(d for d in range(t.ndim) if d != dim)
            alive = np.nonzero(mask._array.sum(axis=others) != 0)[0]
            chosen = (slice(None),) * dim + (make_tensor(alive.astype(np.int64)),)
        elif method.PRUNING_TYPE == "global":
            chosen = (slice(None),) * t.ndim
        else:
            raise ArgumentValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        part = method.compute_mask(t.detach()[chosen], default_mask=mask[chosen])
        result = mask.clone()
        result[chosen] = part.to(dtype=mask.dtype)
        return result


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise ArgumentTypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and int(amount) < 0) or (
        not isinstance(amount, numbers.Integral) and (float(amount) > 1.0 or float(amount) < 0.0)
    ):
        raise ArgumentValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


# The names below are PyTorch's: pruning methods outside of the library import them.
def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ArgumentValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of `tensor_size` are pruned."""
    return (
        int(amount) if isinstance(amount, numbers.Integral) else round(float(amount) * tensor_size)
    )


def _validate_structured_pruning(t: Tensor) -> None:
    if t.ndim <= 1:
        raise ArgumentValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.ndim} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """The n-norm of each channel along `dim`."""
    return T.norm(t, p=n, dim=tuple(d for d in range(t.ndim) if d != dim % t.ndim))


def _count(amount: Any, size: int) -> int:
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


class Identity(BasePruningMethod):
    """Prunes nothing, but creates the mask and the `_orig` parameter; `torch.nn.utils.prune.identity` applies it to a module.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> _ = torch.nn.utils.prune.Identity.apply(layer, "bias")
    >>> sorted(layer.state_dict())
    ['bias_mask', 'bias_orig', 'weight']
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes random elements; `torch.nn.utils.prune.random_unstructured` applies it to a module.

    Args:
        amount: how many elements (int), or which share of them (float between 0 and 1).

    >>> import pellucid as torch
    >>> torch.nn.utils.prune.RandomUnstructured(amount=0.25).prune(torch.ones(8)).sum()
    tensor(6.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t._array.size)
        mask: Any = default_mask.clone()
        if count:
            scores = T.rand_like(t)
            mask.view(-1)[T.topk(scores.view(-1), k=count).indices] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the elements with the smallest absolute values; `torch.nn.utils.prune.l1_unstructured` applies it to a module.

    Args:
        amount: how many elements (int), or which share of them (float between 0 and 1).

    >>> import pellucid as torch
    >>> torch.nn.utils.prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 0.5, -4.0]))
    tensor([ 3., -0.,  0., -4.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t._array.size)
        mask: Any = default_mask.clone()
        if count:
            mask.view(-1)[T.topk(T.abs(t).view(-1), k=count, largest=False).indices] = 0
        return mask


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _scores(self, t: Any) -> Any:
        raise ArgumentTypeError(f"{type(self).__name__} does not say how channels are ranked")

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        channels = t.shape[self.dim]
        count = _count(self.amount, channels)
        if not count:
            return default_mask
        kept = T.topk(self._scores(t), k=channels - count, largest=True).indices._array
        mask = np.zeros(t._array.shape, t._array.dtype)
        where: list[Any] = [slice(None)] * t.ndim
        where[self.dim] = kept
        mask[tuple(where)] = 1
        return make_tensor(mask * default_mask._array)


class RandomStructured(_Structured):
    """Prunes random channels; `torch.nn.utils.prune.random_structured` applies it to a module.

    Args:
        amount: how many channels (int), or which share of them (float between 0 and 1).
        dim: the dimension that counts the channels. Default: -1.

    >>> import pellucid as torch
    >>> pruned = torch.nn.utils.prune.RandomStructured(amount=2, dim=0).prune(torch.ones(3, 2))
    >>> pruned.sum(1).sort().values
    tensor([0., 0., 2.])
    """

    def _scores(self, t: Any) -> Any:
        return T.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the channels with the smallest n-norm; `torch.nn.utils.prune.ln_structured` applies it to a module.

    Args:
        amount: how many channels (int), or which share of them (float between 0 and 1).
        n: the order of the norm.
        dim: the dimension that counts the channels. Default: -1.

    >>> import pellucid as torch
    >>> method = torch.nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
    >>> method.prune(torch.tensor([[1.0, 1.0], [3.0, 0.0], [2.0, 2.0]]))
    tensor([[0., 0.],
            [3., 0.],
            [2., 2.]])
    """

    def __init__(self, amount: Any, n: float, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Any) -> Any:
        return _compute_norm(t, self.n, self.dim)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0; `torch.nn.utils.prune.custom_from_mask` applies it to a module.

    >>> import pellucid as torch
    >>> method = torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0, 1]))
    >>> method.prune(torch.tensor([5.0, 6.0, 7.0]))
    tensor([5., 0., 7.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Make mask and original of a parameter without pruning it.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune random elements of a parameter.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=2)
    >>> int(layer.weight_mask.sum())
    4
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of least absolute value (or least score).

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(4, 1)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[1.0, -4.0, 2.0, -3.0]]))
    >>> torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5).weight_mask
    tensor([[0., 1., 0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune random channels along a dimension.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 3)
    >>> layer = torch.nn.utils.prune.random_structured(layer, "weight", amount=1, dim=0)
    >>> int((layer.weight_mask.sum(1) == 0).sum())  # one row is gone
    1
    """
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: float, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the channels of least n-norm along a dimension.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> torch.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
    tensor([[0., 0.],
            [1., 1.]])
    """
    LnStructured.apply(
        module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
    )
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune by a given mask.

    >>> import pellucid as torch
    >>> layer, mask = torch.nn.Linear(2, 1), torch.tensor([[1.0, 0.0]])
    >>> layer = torch.nn.utils.prune.custom_from_mask(layer, "weight", mask)
    >>> layer.weight == 0
    tensor([[False,  True]])
    """
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any,
    importance_scores: Any = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils import prune
    >>> a, b = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=4)
    >>> int(a.weight_mask.sum() + b.weight_mask.sum())
    4
    """
    if not isinstance(parameters, Iterable):
        raise ArgumentTypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = importance_scores or {}
    flat = T.cat([scores.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in pairs])
    default = T.cat(
        [getattr(m, n + "_mask", T.ones_like(getattr(m, n))).detach().reshape(-1) for m, n in pairs]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentTypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    final = container.compute_mask(flat, default)
    at = 0
    for module, name in pairs:
        param = getattr(module, name)
        count = param.numel()
        custom_from_mask(module, name, mask=final[at : at + count].view_as(param))
        at += count


def remove(module: Any, name: str) -> Any:
    """Make the pruned tensor the parameter, for good.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=2)
    >>> layer = torch.nn.utils.prune.remove(layer, "weight")
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ArgumentValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Any) -> bool:
    """Whether any parameter of the module or below is pruned.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 3)
    >>> before = torch.nn.utils.prune.is_pruned(layer)
    >>> layer = torch.nn.utils.prune.identity(layer, "weight")
    >>> before, torch.nn.utils.prune.is_pruned(layer)
    (False, True)
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )
