"""Store the parameters of called modules in their nodes (`torch.fx.passes.param_fetch`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn import Module
from .._compatibility import compatibility
from ..graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]

module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {}


@compatibility(is_backward_compatible=False)
def default_matching(name: str, target_version: int) -> str:
    """The attribute's own name."""
    return name


@compatibility(is_backward_compatible=False)
def extract_attrs_for_lowering(mod: Module) -> dict[str, Any]:
    """The name of the module's type, and the attributes that `module_fetch_book` lists for it.

    Raises:
        RuntimeError: a newer version of the module than the book knows.
    """
    found: dict[str, Any] = {"name": mod._get_name()}
    if type(mod) in module_fetch_book:
        version, names, matching = module_fetch_book[type(mod)]
        if version < getattr(mod, "_version", 1):
            raise RuntimeError(
                f"Fetcher version {version} try to fetch {mod._get_name()} version {mod._version}, please upgrade the module_fetch_book, "
                "open an issue and @842974287 or report a bug to AIACC team directly."
            )
        for name in names:
            found[name] = getattr(mod, matching(name, getattr(mod, "_version", 1)))
    return found


@compatibility(is_backward_compatible=False)
def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Give each node that calls a module `attrs_for_lowering`, in the graph modules inside, too."""
    modules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        called = modules[str(node.target)]
        if isinstance(called, GraphModule):
            lift_lowering_attrs_to_nodes(called)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(called)  # type: ignore[attr-defined]
