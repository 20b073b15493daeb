"""Helpers of passes (`torch.fx.passes.utils`)."""

from __future__ import annotations

from .common import HolderModule as HolderModule
from .common import compare_graphs as compare_graphs
from .common import lift_subgraph_as_module as lift_subgraph_as_module
