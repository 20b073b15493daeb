"""Debugging and visualization: shape assertions and contracts, pictures of graphs, explanations,
summaries.
"""

from .contracts import (
    Bool,
    Complex,
    Float,
    Int,
    Shaped,
    contracts_enabled,
    enable_contracts,
    expect_close,
    expect_shape,
    shape_str,
    shapes,
)
from .graph import (
    Drawable,
    GraphEdge,
    GraphNode,
    graph_lines,
    graph_text,
    print_autograd_graph,
    topological_order,
    visualize_autograd_graph,
)
from .layers import Summary, summary
from .pictures.charts import Chart, Series
from .pictures.drawing import Drawing, draw, graph_html, graph_svg, step_through
from .pictures.report import Report
from .pictures.stepping import Recording
from .pictures.training import TrainingPlots
from .questions.explain import Explanation, explain
from .watching import Watch, watch

__all__ = [
    "Bool",
    "Chart",
    "Complex",
    "Drawable",
    "Drawing",
    "Explanation",
    "Float",
    "GraphEdge",
    "GraphNode",
    "Int",
    "Recording",
    "Report",
    "Series",
    "Shaped",
    "Summary",
    "TrainingPlots",
    "Watch",
    "contracts_enabled",
    "draw",
    "enable_contracts",
    "expect_close",
    "expect_shape",
    "explain",
    "graph_html",
    "graph_lines",
    "graph_svg",
    "graph_text",
    "print_autograd_graph",
    "shape_str",
    "shapes",
    "step_through",
    "summary",
    "topological_order",
    "visualize_autograd_graph",
    "watch",
]
