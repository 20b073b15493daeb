"""Graphs as pictures (`torch.fx.passes.graph_drawer`); needs the package pydot, and Graphviz to
write images.
"""

from __future__ import annotations

import hashlib
from typing import Any

from .._compatibility import compatibility
from ..graph import _parse_stack_trace
from ..graph_module import GraphModule
from ..node import Node, _format_arg, _get_qualified_name
from .shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

_COLOR_MAP = {
    "placeholder": '"AliceBlue"',
    "call_module": "LemonChiffon1",
    "get_param": "Yellow2",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}
_COLORS = [
    "CadetBlue1",
    "Coral",
    "DarkOliveGreen1",
    "DarkSeaGreen1",
    "GhostWhite",
    "Khaki1",
    "LavenderBlush1",
    "LightSkyBlue",
    "MistyRose1",
    "MistyRose2",
    "PaleTurquoise2",
    "PeachPuff1",
    "Salmon",
    "Thistle1",
    "Thistle3",
    "Wheat1",
]
_TEMPLATE = {"fillcolor": "Yellow3", "style": '"filled,rounded"', "fontcolor": "#000000"}


@compatibility(is_backward_compatible=False)
class FxGraphDrawer:
    """Draws the graph of a module: a record a node, an edge a use.

    Args:
        graph_module: the module.
        name: of the picture.
        ignore_getattr: leave out nodes that read an attribute.
        ignore_parameters_and_buffers: leave out parameters and buffers of called modules.
        skip_node_names_in_args: leave names of nodes out of arguments.
        parse_stack_trace: show the line that a node comes from.
        dot_graph_shape: the shape of nodes; by default "record".
        normalize_args: bind arguments to parameters first.

    Raises:
        RuntimeError: pydot is not installed.

    Example:

        drawer = torch.fx.passes.graph_drawer.FxGraphDrawer(gm, "model")
        drawer.get_dot_graph().write_svg("model.svg")
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        self._name = name
        self.dot_graph_shape = dot_graph_shape if dot_graph_shape is not None else "record"
        self.normalize_args = normalize_args
        self._options = (
            ignore_getattr,
            ignore_parameters_and_buffers,
            skip_node_names_in_args,
            parse_stack_trace,
        )
        self._dot_graphs = {name: self._to_dot(graph_module, name)}
        for child_name, child in graph_module.named_children():
            if isinstance(child, GraphModule):
                self._dot_graphs[f"{name}_{child_name}"] = self._to_dot(
                    child, f"{name}_{child_name}"
                )

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The pydot graph of the module, or of a submodule by its name."""
        return (
            self.get_main_dot_graph()
            if submod_name is None
            else self.get_submod_dot_graph(submod_name)
        )

    def get_main_dot_graph(self) -> Any:
        """The pydot graph of the module."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The pydot graph of a submodule."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All pydot graphs, by name."""
        return self._dot_graphs

    def _style(self, node: Node) -> dict[str, str]:
        style = {"shape": self.dot_graph_shape, **_TEMPLATE}
        if node.op in _COLOR_MAP:
            style["fillcolor"] = _COLOR_MAP[node.op]
        else:
            number = int(
                hashlib.md5(str(_target_name(node)).encode(), usedforsecurity=False).hexdigest()[
                    :8
                ],
                16,
            )
            style["fillcolor"] = _COLORS[number % len(_COLORS)]
        return style

    def _label(self, module: GraphModule, node: Node) -> str:
        skip_names, parse = self._options[2:]
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            called: Any = module.get_submodule(str(node.target))
            lines.append(type(called).__module__ + "." + type(called).__name__)
            lines += [
                f"{name}: {getattr(called, name)}" for name in getattr(called, "__constants__", ())
            ]
        else:
            lines.append(f"target={_target_name(node)}")
            args, kwargs = node.args, node.kwargs
            if self.normalize_args:
                bound = node.normalized_arguments(module, normalize_to_only_use_kwargs=True)
                args, kwargs = (bound.args, bound.kwargs) if bound is not None else (args, kwargs)
            shown = lambda value: (
                "" if skip_names and isinstance(value, Node) else _format_arg(value, 8)
            )
            if args:
                lines.append(f"args=({', '.join(shown(value) for value in args)},)")
            if kwargs:
                lines.append(
                    f"kwargs={{{', '.join(f'{name}: {shown(value)}' for name, value in kwargs.items())}}}"
                )
            lines.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta")
        if isinstance(meta, TensorMetadata):
            lines += [
                f"dtype={meta.dtype}",
                f"shape={tuple(meta.shape)}",
                f"requires_grad={meta.requires_grad}",
                f"stride={meta.stride}",
            ]
        if parse and node.stack_trace is not None:
            place = _parse_stack_trace(node.stack_trace)
            lines.append(
                f"file={place.file.rpartition('/')[2]}:{place.lineno} {place.code}" if place else ""
            )
        text = "|".join(_escaped(line) for line in lines)
        return "{" + text + r"\n}"

    def _to_dot(self, module: GraphModule, name: str) -> Any:
        try:
            import pydot
        except ImportError as error:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite Python package manager."
            ) from error
        ignore_attributes, ignore_parameters = self._options[:2]
        dot = pydot.Dot(name, rankdir="TB")
        for node in module.graph.nodes:
            if ignore_attributes and node.op == "get_attr":
                continue
            style = self._style(node)
            dot.add_node(pydot.Node(node.name, label=self._label(module, node), **style))
            if node.op != "call_module" or ignore_parameters:
                continue
            called = module.get_submodule(str(node.target))
            if isinstance(called, GraphModule):
                continue
            for part, value in (*called.named_parameters(), *called.named_buffers()):
                label = (
                    "{"
                    f"name={_escaped(part)}|op_code=get_{'parameter' if value.requires_grad else 'buffer'}"
                    "}"
                )
                dot.add_node(pydot.Node(f"{node.name}.{part}", label=label, **style))
                dot.add_edge(pydot.Edge(f"{node.name}.{part}", node.name))
        for node in module.graph.nodes:
            if not (ignore_attributes and node.op == "get_attr"):
                for user in node.users:
                    dot.add_edge(pydot.Edge(node.name, user.name))
        return dot


def _target_name(node: Node) -> str:
    return node.target if isinstance(node.target, str) else _get_qualified_name(node.target)


def _escaped(text: str) -> str:
    for mark in '\\{}|<>"':
        text = text.replace(mark, "\\" + mark)
    return text + r"\l"
