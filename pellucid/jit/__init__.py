"""`torch.jit`: scripted and traced code runs as Python behind TorchScript's interface; nothing
is compiled.

`torch.compile` is the compiler here, `torch.export` records programs, and `torch.fx` gives graphs.

>>> import pellucid as torch
>>> @torch.jit.script
... def clipped(x, low: float = 0.0):
...     return x.clamp(min=low)
>>> clipped(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from typing import Final

from ..api.attach import suggest_names as _suggest_names
from ..futures import Future
from . import _builtins as _builtins
from . import _recursive as _recursive
from . import _script as _script
from . import _trace as _trace
from . import annotations as annotations
from ._archive import load
from ._graph import _get_trace_graph as _get_trace_graph
from ._marks import (
    Attribute,
    annotate,
    enable_onednn_fusion,
    export,
    fork,
    ignore,
    interface,
    is_scripting,
    isinstance,
    onednn_fusion_enabled,
    script_method,
    set_fusion_strategy,
    strict_fusion,
    unused,
    wait,
)
from ._marks import (
    _drop as _drop,
)
from ._marks import (
    _overload as _overload,
)
from ._marks import (
    _overload_method as _overload_method,
)
from ._marks import (
    fuser as fuser,
)
from ._marks import (
    last_executed_optimized_graph as last_executed_optimized_graph,
)
from ._marks import (
    optimized_execution as optimized_execution,
)
from ._script import (
    CompilationUnit,
    Error,
    ScriptFunction,
    ScriptModule,
    freeze,
    optimize_for_inference,
    run_frozen_optimizations,
    save,
    script,
)
from ._script import (
    RecursiveScriptModule as RecursiveScriptModule,
)
from ._trace import (
    ONNXTracedModule as ONNXTracedModule,
)
from ._trace import (
    TopLevelTracedModule as TopLevelTracedModule,
)
from ._trace import (
    TracedModule as TracedModule,
)
from ._trace import (
    TracerWarning as TracerWarning,
)
from ._trace import (
    TracingCheckError as TracingCheckError,
)
from ._trace import (
    _script_if_tracing as _script_if_tracing,
)
from ._trace import (
    is_tracing,
    script_if_tracing,
    trace,
    trace_module,
)

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_suggest_names(__name__)
