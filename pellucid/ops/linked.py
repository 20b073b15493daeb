"""Gradients that stay connected in the graph to arguments on which they do not depend (the field
`linked` of records).
"""

from __future__ import annotations

from ..core.primitive import defop
from ._samples import cases

linked_op = defop(
    "linked",
    "input *others",
    forward=lambda xp, x, *others, zeros: x[...],
    view=True,
    aval=lambda x, *others, zeros: x,
    vjp=lambda F, g, input_dtype, others_shapes, zeros: (
        g,
        *[
            F.full(shape=s, value=0, dtype=input_dtype) if z else None
            for s, z in zip(others_shapes, zeros, strict=True)
        ],
    ),
    jvp=lambda F, tangents: tangents[0],
    traits="passes",
    samples=cases((((2, 3), (2, 3), (4,)), {"zeros": (True, True)})),
)
