# ruff: noqa: F722, F821
"""jaxtyping: annotations of shapes that are checked when functions run."""

from typing import NamedTuple

import torch
from _parts import show
from beartype import beartype
from jaxtyping import Bool, Float, Int, Shaped, TypeCheckError, jaxtyped


@jaxtyped(typechecker=beartype)
def attention(
    q: Float[torch.Tensor, "*batch n d"],
    k: Float[torch.Tensor, "*batch m d"],
    v: Float[torch.Tensor, "*batch m e"],
) -> Float[torch.Tensor, "*batch n e"]:
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


@jaxtyped(typechecker=beartype)
def grow(x: Int[torch.Tensor, "a b"], y: Shaped[torch.Tensor, "a"]) -> Int[torch.Tensor, "a b+1"]:
    return torch.cat([x, y[:, None].long()], 1)


class Pair(NamedTuple):
    x: Float[torch.Tensor, "3 _"]
    mask: Bool[torch.Tensor, "..."]


torch.manual_seed(0)
show("attention", attention(torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)))
print(grow(torch.ones(2, 3, dtype=torch.int64), torch.zeros(2)).shape)
for call in (
    lambda: attention(torch.randn(2, 3, 4), torch.randn(2, 5, 3), torch.randn(2, 5, 6)),
    lambda: attention(torch.ones(2, 3, 4).long(), torch.randn(2, 5, 4), torch.randn(2, 5, 6)),
    lambda: grow(torch.ones(2, 3, dtype=torch.int64), torch.zeros(3)),
    lambda: grow(torch.ones(2, 3), torch.zeros(2)),
):
    try:
        call()
    except TypeCheckError as error:
        print(str(error).splitlines()[0])
print(
    isinstance(torch.ones(3, 4), Float[torch.Tensor, "3 d"]),
    isinstance(torch.ones(3, 4), Float[torch.Tensor, "3 3"]),
)
for dtype in (
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int8,
    torch.bool,
    torch.complex64,
):
    x = torch.zeros(2, dtype=dtype)
    print(dtype, [isinstance(x, kind[torch.Tensor, "2"]) for kind in (Float, Int, Bool, Shaped)])
