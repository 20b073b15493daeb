"""softmax, log_softmax, softmin and gumbel_softmax of `nn.functional`."""

from __future__ import annotations

from typing import Any

from ....core.bind import wrap
from ....core.primitive import TENSORS as F
from ....core.public import FUNCTIONS, METHODS, public
from ....core.streams import generator as random
from ....core.streams.distributions import exponential
from ....core.tensor import Tensor
from ....errors import warn
from ..._rules import require_tensor
from ...reduce.softmax import log_softmax_op, softmax_along, softmax_op


def _with_default_dim(name: str, meaning: str) -> None:
    op, title = (log_softmax_op, name) if name == "log_softmax" else (softmax_op, "softmax")

    def function(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
    ) -> Tensor:
        x = require_tensor(input, name)
        if dim is None:
            warn(
                f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
            )
            dim = 0 if x.ndim in (0, 1, 3) else 1
        return softmax_along(op, title, -x if name == "softmin" else x, dim, dtype)

    function.__name__ = name
    function.__doc__ = f"""{meaning}

    Args:
        input: floating point, any shape (other types with `dtype=`).
        dim: the dimension over which the probabilities sum to 1. Without it a warning says so, and it is 0 for 0, 1 or 3 dimensions,
            else 1.
        dtype: convert to this type first. Default: None.

    >>> import pellucid as torch
    >>> torch.nn.functional.{name}(torch.zeros(2, 5), dim=1).shape
    torch.Size([2, 5])
    """
    public(namespace="nn.functional")(function)


_with_default_dim("softmax", "`exp(x) / sum(exp(x))` along `dim`, computed without overflow.")
_with_default_dim(
    "log_softmax", "`log(softmax(x))` along `dim`, without the loss of precision of the two steps."
)
_with_default_dim("softmin", "`softmax(-x)` along `dim`, which weighs small elements most.")


@public(namespace="nn.functional")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Sample from the Gumbel-softmax distribution: `softmax((logits + Gumbel noise) / tau)`.

    Args:
        logits: unnormalized log-probabilities, any shape.
        tau: the temperature; small values give samples that are nearly one-hot. Default: 1.
        hard: return one-hot vectors, with the gradient of the soft sample. Default: False.
        eps: accepted, without an effect.
        dim: the dimension of the classes. Default: -1.

    Source: Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax", 2016.

    >>> import pellucid as torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(dim=1)
    tensor([1., 1.])
    """
    x = require_tensor(logits, "gumbel_softmax", "logits")
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.", UserWarning)
    if random.draw_guards:
        waiting = METHODS["exponential_"](FUNCTIONS["torch"]["empty_like"](x))
    else:
        a = x._array
        waiting = wrap(exponential(random.default_generator, a.shape, 1.0, a.dtype))
    noise = -F.log(waiting)
    soft = METHODS["softmax"]((x + noise) / tau, dim)
    if not hard:
        return soft
    best = METHODS["argmax"](soft, dim, keepdim=True)
    onehot = METHODS["scatter"](METHODS["new_zeros"](soft, soft.shape), dim, best, 1.0)
    return onehot - soft.detach() + soft
