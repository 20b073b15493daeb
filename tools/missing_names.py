"""Compare public names: which of PyTorch's does Pellucid not have, and why.

    python tools/missing_names.py                      # a list by namespace and reason; needs torch beside Pellucid
    python tools/missing_names.py --write docs/missing.md
    python tools/missing_names.py --check docs/missing.md   # fails where the document is out of date

A name counts when the namespace lists it in `__all__`, or, where there is no such list, when it has
no leading underscore; of modules only the namespace's own submodules count.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.utils.data",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.signal.windows",
    "torch.masked",
    "torch.autograd",
    "torch.func",
    "torch.distributions",
)

# The first pattern that matches the name decides; patterns match whole names.
REASONS: tuple[tuple[str, str], ...] = (
    (
        "quantized tensors and their operations",
        (
            r"q_.*|.*quant.*|int_repr|qscheme|q?u?int[1-7](x\d)?|qu?int\d+(x\d)?|Q\w*Storage|fbgemm_.*"
            r"|per_(channel|tensor)_.*|choose_qparams.*|fused_moving_avg.*|q(at|uantizable)|intrinsic|ao|bit|bits.*"
        ),
    ),
    (
        "element types without NumPy storage",
        (
            r"float4.*|float8_e8m0fnu|float8_e\dm\dfnuz|scaled_.*|grouped_mm|scaled_grouped_mm"
            r"|ScalingType|SwizzleType"
        ),
    ),
    (
        "TorchScript: its compiler, types and graphs",
        (
            r"\w+Type|Script\w*|\w*JIT\w*|Lite\w+|\w*Graph\w*|Code|CompilationUnit|Compil\w+Unit"
            r"|Concrete\w*|(Complete)?ArgumentSpec|Argument|Alias\w+|Block|BufferDict|ModuleDict|ParameterDict|CallStack|Capsule|Deep\w+|FatalError"
            r"|Deserial\w+|Serial\w+|ErrorReport|Execution\w+|FileCheck|FunctionSchema|Gradient|IODescriptor|LockingLogger|LoggerBase|Noop\w+"
            r"|Node|OperatorInfo|PyTorchFile\w+|StaticModule|TracingState|Type|Use|Value|merge_type.*|parse_\w+|unify_\w+|import_ir.*|AVG|SUM"
            r"|Aggregation\w+|Benchmark\w+|Throughput\w+|fork|wait|Future|jit|classes|ops|library|fx|Tag|Dispatch\w+|Exclude\w+|PRIVATE_OPS"
            r"|init_num_threads|BroadcastingList\d|boolean_dispatch|assert_int_or_pair|classproperty"
        ),
    ),
    (
        "sparse layouts",
        (
            r".*(sparse|_indices(_copy)?|coo|csr|csc)(_.*)?|indices_copy|values_copy|(s|sspa|sa|hs|d)?(dd|p)?mm|saddmm|hspmm|hsmm"
            r"|smm|sspaddmm|sparse_.*"
        ),
    ),
    (
        "CUDA, cuDNN, MIOpen, MKL-DNN and other devices",
        (
            r"cudnn_.*|miopen_.*|mkldnn_.*|.*_cuda\w*|ipu|xpu|mtia|maia|DeviceType|Stream|Event"
            r"|record_stream|batch_norm_(backward|elemt|gather|stats|update).*|tf32_notes|Scal\w+Type"
        ),
    ),
    (
        "multiprocessing",
        r"distributed|DistributedDataParallel|monitor|futures|multiprocessing|prepare_multiprocessing.*|parallel",
    ),
    ("named tensors", r"reinforce|index|refine_names|align_\w+"),
    (
        "data pipelines and their graphs",
        (
            r"\w*DataPipe|DataChunk|argument_validation|functional_datapipe|guaranteed_\w+|non_deterministic"
            r"|runtime_validation(_disabled)?|datapipes|graph(_settings)?|MapDataPipe"
        ),
    ),
    (
        "whole recurrent networks as one function (use nn.LSTM, nn.GRU, nn.RNN)",
        r"lstm|gru|rnn_(relu|tanh)",
    ),
    ("symbolic shapes of the compiler", r"sym_.*|Sym\w+"),
    (
        "internals that PyTorch's modules happen to expose",
        (
            r"\w+_notes|common_args|multi_dim_common|factory_common_args|TYPE_CHECKING"
            r"|Tensor|Callable|DType|Optional|USE_.*|thread_safe_generator|GRID_SAMPLE\w+|has_torch_function.*|handle_torch_function"
            r"|swap_in_optimizer.*|profiler_allow\w+|Container"
        ),
    ),
    ("PyTorch's internal module for masked tensors", r"maskedtensor"),
    ("a method of nested tensors only", r"to_padded_tensor"),
    (
        "older or internal forms of public functions",
        (
            r"native_norm|slice_inverse|NestedIOFunction|profiler_(legacy|util)"
            r"|Storage(Base)?|windows|module_load|enforce_grad_layout_policy|LinearCrossEntropyOptions"
        ),
    ),
)
OTHER = "not there yet"


def find(root: types.ModuleType, namespace: str) -> Any:
    """The namespace ("torch.nn.functional") of a package that stands for torch, or None."""
    found: Any = root
    for part in namespace.split(".")[1:]:
        if not hasattr(found, part):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return None
        else:
            found = getattr(found, part)
    return found


def public_names(space: Any, package: str) -> list[str]:
    """The names that count in a namespace of `package`: what it lists itself, or else everything
    public, and its own submodules.
    """
    listed = (
        getattr(space, "__all__", None) if getattr(space, "__name__", package) != package else None
    )
    names = []
    for name in dir(space):
        value = getattr(space, name, None) if not name.startswith("_") else None
        if isinstance(value, types.ModuleType):
            counts = value.__name__ == f"{space.__name__}.{name}"
        else:
            counts = not name.startswith("_") and (listed is None or name in listed)
        if counts:
            names.append(name)
    return names


def has(space: Any, name: str) -> bool:
    """Whether the name is there; a lazily loaded part that fails to load is not."""
    try:
        return hasattr(space, name)
    except ImportError:
        return False


def reason(name: str) -> str:
    """The group that a missing name belongs to."""
    return next((title for title, pattern in REASONS if re.fullmatch(pattern, name)), OTHER)


def compare(
    theirs: types.ModuleType, ours: types.ModuleType
) -> Iterator[tuple[str, int, list[str]]]:
    """(namespace, how many public names PyTorch has there, the ones that are missing)."""
    for namespace in NAMESPACES:
        their_space, our_space = find(theirs, namespace), find(ours, namespace)
        names = public_names(their_space, theirs.__name__)
        yield (
            namespace,
            len(names),
            [n for n in names if our_space is None or not has(our_space, n)],
        )


def document(rows: Sequence[tuple[str, int, list[str]]]) -> str:
    """The tables of docs/missing.md."""
    lines = [
        "# Unsupported PyTorch APIs",
        "",
        "Generated by `tools/missing_names.py`, which compares the public names of PyTorch 2.13 with this package's.",
        "A name that exists may still refuse some arguments; its error then says which.",
        "The calls of PyTorch's overloads whose result or refusal differs are listed in `tests/oracle/overloads.json`, each with its reason.",
        "`float4_e2m1fn_x2` and integers of under eight bits have names only: their tensors are refused.",
        "A graph keeps the values that it was recorded with: after `x.data = y`, backward of what was recorded before",
        "uses the old values of `x`, and a gradient has its new dtype.",
        "`pellucid compat train.py` lists what a script uses of these names.",
        "",
        "| namespace | names in PyTorch | here | missing |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{space}` | {total} | {total - len(gone)} | {len(gone)} |"
        for space, total, gone in rows
    ]
    groups: dict[str, list[str]] = {}
    for space, _, gone in rows:
        for name in gone:
            full = name if space == "torch" else f"{space.removeprefix('torch.')}.{name}"
            groups.setdefault(reason(name), []).append(full)
    lines += ["", "| why | names | which |", "|---|---|---|"]
    for title in (*[t for t, _ in REASONS], OTHER):
        if title in groups:
            lines.append(
                f"| {title} | {len(groups[title])} | {', '.join(f'`{n}`' for n in groups[title])} |"
            )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the list, write the document, or compare it with what would be written (1 when it
    differs).
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--check", type=Path)
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rows = list(compare(importlib.import_module("torch"), importlib.import_module("pellucid")))
    text = document(rows)
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    elif args.check:
        same = args.check.read_text(encoding="utf-8") == text
        if not same:
            print(
                f"{args.check} is out of date: run python tools/missing_names.py --write {args.check}",
                file=sys.stderr,
            )
        return 0 if same else 1
    else:
        for space, total, gone in rows:
            print(f"{space}: {total - len(gone)} of {total}")
            for title in dict.fromkeys(map(reason, gone)):
                print(f"    {title}: {' '.join(n for n in gone if reason(n) == title)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
