"""Programs as graphs that can be read, changed and run (`torch.fx`).

`symbolic_trace` runs a module or function on proxies and gives a `GraphModule`: a `Graph` of what
was done, and Python code made from it.

>>> import pellucid as torch
>>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
>>> print(gm.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})
    return add
"""

from __future__ import annotations

from . import _utils as _utils
from . import config as config
from . import experimental as experimental
from . import immutable_collections as immutable_collections
from . import tensor_type as tensor_type
from ._patching import wrap as wrap
from ._symbolic_trace import PH as PH
from ._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from ._symbolic_trace import Tracer as Tracer
from ._symbolic_trace import symbolic_trace as symbolic_trace
from .graph import CodeGen as CodeGen
from .graph import Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .interpreter import Transformer as Transformer
from .node import Node as Node
from .node import has_side_effect as has_side_effect
from .node import map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
