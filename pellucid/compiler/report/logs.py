"""Log messages of compiled functions: `TORCH_LOGS=recompiles,graph_breaks` or
`torch._logging.set_logs(recompiles=True)`.

"recompiles" logs each trace and its reason; "graph_breaks" logs what runs eagerly and why. The
lines go to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ... import config

KNOWN = ("recompiles", "graph_breaks")
# PyTorch's other log names, which are accepted but log nothing: `explain()` shows programs, guards
# and code.
OTHERS = (
    "all",
    "dynamo",
    "aot",
    "inductor",
    "dynamic",
    "torch",
    "distributed",
    "onnx",
    "bytecode",
    "aot_graphs",
    "aot_joint_graph",
    "ddp_graphs",
    "graph",
    "graph_code",
    "graph_sizes",
    "guards",
    "recompiles_verbose",
    "trace_source",
    "trace_call",
    "output_code",
    "kernel_code",
    "schedule",
    "perf_hints",
    "post_grad_graphs",
    "fusion",
    "overlap",
    "export",
    "cudagraphs",
    "sym_node",
    "compiled_autograd",
    "benchmarking",
    "autotuning",
    "modules",
    "inductor_metrics",
    "verbose_guards",
    "pre_grad_graphs",
)
_on: set[str] = set()


def listen(names: Iterable[str]) -> None:
    """Enable exactly these logs. "all", "dynamo" and "recompiles_verbose" enable all of them; a
    leading "+" is ignored.
    """
    _on.clear()
    for name in names:
        plain = name.strip().lstrip("+")
        if plain in ("all", "dynamo", "recompiles_verbose"):
            _on.update(KNOWN)
        elif plain in KNOWN:
            _on.add(plain)


def tell(name: str, text: str) -> None:
    """Print a line to stderr if the log is enabled."""
    if name in _on:
        print(f"[{name}] {text}", file=sys.stderr)


listen(config.logs)
