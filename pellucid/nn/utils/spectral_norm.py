"""Spectral normalization by hooks, the older form (see parametrizations.spectral_norm)."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...errors import ArgumentValueError, OperationError
from .. import functional as F
from .._functions import T
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook that divides the weight by its largest singular value before each call."""

    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ArgumentValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """The weight with one dimension as rows and all others as columns."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim))
        return weight.reshape(weight.shape[0], -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The normalized weight."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(T.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(T.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()
        return weight / T.dot(u, T.mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Undo the normalization: make the weight an ordinary parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def note_version(
        self, module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        """Write the version of what was saved into its metadata."""
        local_metadata.setdefault("spectral_norm", {})[self.name + ".version"] = self._version

    def upgrade(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        *rest: Any,
    ) -> None:
        """Before the first version the normalized weight was saved, and not the right singular
        vector v. It follows from them.
        """
        version = local_metadata.get("spectral_norm", {}).get(self.name + ".version")
        key = prefix + self.name
        if version is not None and version >= 1:
            return
        if (
            version is None
            and all(key + s in state_dict for s in ("_orig", "_u", "_v"))
            and key not in state_dict
        ):
            return  # put together by hand from one that is new
        found = True
        for suffix in ("_orig", "", "_u"):
            if key + suffix not in state_dict:
                found = False
                if strict:
                    missing.append(key + suffix)
        if not found:
            return
        with no_grad():
            original, normalised, u = (
                state_dict[key + "_orig"],
                state_dict.pop(key),
                state_dict[key + "_u"],
            )
            sigma = (original / normalised).mean()
            matrix = self.reshape_weight_to_matrix(original)
            v = T.mv(T.linalg.pinv(T.mm(matrix.t(), matrix)), T.mv(matrix.t(), u))
            state_dict[key + "_v"] = v * (sigma / T.dot(u, T.mv(matrix, v)))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by an estimate of its largest singular value before each call of its module.

    The estimate comes from power iteration, which continues from call to call. The trained parameter is `name_orig`.
    `torch.nn.utils.parametrizations.spectral_norm` is the newer form.

    Args:
        module: the module that has the weight. It is changed and returned.
        name: the name of the weight. Default: "weight".
        n_power_iterations: iterations per call in training mode; there are none in evaluation mode. Default: 1.
        eps: the smallest norm to divide by in the iteration. Default: 1e-12.
        dim: the dimension that becomes the rows of the matrix. Default: None, which means 0, or 1 for transposed convolutions.

    Source: Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> _ = layer.weight.data.copy_(torch.diag(torch.tensor([4.0, 1.0])))
    >>> layer = torch.nn.utils.spectral_norm(layer, n_power_iterations=20)
    >>> _ = layer(torch.ones(1, 2))
    >>> torch.linalg.matrix_norm(layer.weight, 2).item()
    1.0
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise OperationError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
    made = SpectralNorm(name, n_power_iterations, dim, eps)
    weight: Any = module._parameters[name]
    if weight is None:
        raise ArgumentValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ArgumentValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
            "spectral normalization"
        )
    with no_grad():
        rows, columns = made.reshape_weight_to_matrix(weight).shape
        u = F.normalize(T.empty(rows, dtype=weight.dtype).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(T.empty(columns, dtype=weight.dtype).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(made)
    module._register_state_dict_hook(made.note_version)
    module._register_load_state_dict_pre_hook(made.upgrade)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo `spectral_norm`: make the weight an ordinary parameter again, with its present value.

    Raises:
        ValueError: the module has no normalized weight of this name.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_orig']
    >>> layer = torch.nn.utils.remove_spectral_norm(layer)
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ArgumentValueError(f"spectral_norm of '{name}' not found in {module}")
