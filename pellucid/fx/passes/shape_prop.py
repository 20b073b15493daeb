"""Shapes and element types of all values of a graph, found by running it
(`torch.fx.passes.shape_prop`).
"""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

from ... import dtypes
from ...core.tensor import Tensor
from .._compatibility import compatibility
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


@compatibility(is_backward_compatible=True)
class TensorMetadata(NamedTuple):
    """What is known of a tensor besides its values; `memory_format` is None where it is none of the
    known ones.
    """

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    formats = (dtypes.contiguous_format, dtypes.channels_last, dtypes.channels_last_3d)
    fits = (
        form
        for form in formats
        if result.dim()
        == {dtypes.channels_last: 4, dtypes.channels_last_3d: 5}.get(form, result.dim())
    )
    memory_format = (
        next((form for form in fits if result.is_contiguous(memory_format=form)), None)
        if include_contiguity
        else None
    )
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {}
    )


@compatibility(is_backward_compatible=True)
class ShapeProp(Interpreter):
    """Runs a graph on example inputs and puts what it sees of each value into
    `node.meta["tensor_meta"]` and `["type"]`.

    Args:
        gm: the module.
        fake_mode: taken only as None: values are computed here.

    >>> import pellucid as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: x.sum(1))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(gm).propagate(torch.ones(2, 3))
    >>> [(node.name, tuple(node.meta["tensor_meta"].shape)) for node in gm.graph.nodes]
    [('x', (2, 3)), ('sum_1', (2,)), ('output', (2,))]
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp(fake_mode=...): values are computed; pass tensors on the device 'meta' for shapes alone"
            )
        self.fake_mode = None

    def run_node(self, n: Node) -> Any:
        """The value of a node, after its `meta` is filled in.

        Raises:
            RuntimeError: the node could not be run.
        """
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def extract(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these inputs; its result."""
        return super().run(*args)
