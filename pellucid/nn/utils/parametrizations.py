"""Ready parametrizations: weight normalization, spectral normalization, orthogonality."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...errors import ArgumentValueError, UnsupportedError
from .. import functional as F
from .._functions import T
from ..modules.module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return T._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction of a weight."""
        return T.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn length and direction of a weight separately: w = g v / |v|.

    Source: Salimans, Kingma, "Weight normalization", 2016.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_hooks(state_dict: Any, prefix: str, *rest: Any) -> None:
        """What the older form of weight normalization saved, under the names of this one."""
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for k, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{k}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(from_hooks)
    return module


class _SpectralNorm(Module):
    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ArgumentValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            rows, columns = matrix.shape
            u = T.empty(rows, dtype=matrix.dtype).normal_(0, 1)
            v = T.empty(columns, dtype=matrix.dtype).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Any, count: int) -> None:
        for _ in range(count):
            self._u.copy_(F.normalize(T.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(T.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / T.vdot(u, T.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iteration.

    Args:
        module: the module that has the weight. It is changed and returned.
        name: the name of the weight. Default: "weight".
        n_power_iterations: iterations per call in train mode. Default: 1.
        eps: the smallest norm that vectors are divided by. Default: 1e-12.
        dim: the dimension of the outputs. Default: 1 for transposed convolutions, otherwise 0.

    Source: Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils.parametrizations import spectral_norm
    >>> generator = torch.manual_seed(0)
    >>> layer = spectral_norm(torch.nn.Linear(4, 4), n_power_iterations=50)
    >>> round(torch.linalg.matrix_norm(layer.eval().weight, 2).item(), 2)
    1.0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


def _orthonormal(x: Any) -> Any:
    """The columns of a tall matrix made orthonormal, one after the other."""
    a, tau = T.geqrf(x)
    q: Any = T.linalg.householder_product(a, tau)
    return q * a.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal matrix: exp(A - A^H), or the Cayley transform of it, of the lower triangle A, or
    a product of Householder reflections; with a trivialization times a fixed one (`base`).
    """

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ArgumentValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        a: Any = x.mT if wide else x
        n, k = a.shape[-2:]
        if self.orthogonal_map == "householder":
            below = a.tril(-1)
            tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
            q: Any = T.linalg.householder_product(below, tau)
            q = q * a.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            a = a.tril()
            if n != k:
                a = T.cat([a, T.zeros((*a.shape[:-1], n - k), dtype=a.dtype)], -1)
            a = a - a.mH
            if self.orthogonal_map == "matrix_exp":
                q = T.linalg.matrix_exp(a)
            else:
                eye = T.eye(n, dtype=a.dtype)
                q = T.linalg.solve(eye + a * -0.5, eye + a * 0.5)
            q = q[..., :k]
        if "base" in self._buffers:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q_value: Tensor) -> Tensor:
        """What stands for an orthogonal matrix: minus the identity with a trivialization, for the
        matrix itself becomes the fixed factor.
        """
        if q_value.shape != self.shape:
            raise ArgumentValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q_value.shape}."
            )
        wide = q_value.shape[-2] < q_value.shape[-1]
        q: Any = q_value.mT if wide else q_value
        n, k = q.shape[-2:]
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise UnsupportedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            a, tau = T.geqrf(q)
            signs = a.diagonal(dim1=-2, dim2=-1)
            signs.copy_(signs.sign() * (1 - 2 * (tau == 0).to(a.dtype)))
            return a.mT if wide else a
        if n != k:
            extra = T.randn(*q.shape[:-2], n, n - k, dtype=q.dtype)
            q = T.cat([q, extra], -1)
        self.base = _orthonormal(q)
        stands: Any = T.zeros_like(q_value)
        stands.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return stands


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight (a matrix, or a stack of matrices) orthogonal: its rows are orthonormal, or its
    columns if there are fewer columns than rows.

    Args:
        orthogonal_map: "matrix_exp" (the default of square and complex weights), "cayley" or
            "householder" (that of others).
        use_trivialization: keep the present weight as a fixed factor, so that training starts from
            it.

    Source: Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ArgumentValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ArgumentValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module
