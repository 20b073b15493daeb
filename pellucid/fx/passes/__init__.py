"""Functions that read and change graphs (`torch.fx.passes`)."""

from __future__ import annotations

from . import graph_drawer as graph_drawer
from . import graph_manipulation as graph_manipulation
from . import operator_support as operator_support
from . import param_fetch as param_fetch
from . import shape_prop as shape_prop
from . import split_module as split_module
from . import tools_common as tools_common
