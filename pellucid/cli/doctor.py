"""`pellucid doctor` shows what this machine offers Pellucid, and tests the parts that make it fast."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import config
from pellucid._version import __version__
from pellucid.cli import stand_in

from ..kernels.matmul import blas
from ..llvm import cache, jit, target, threads
from .command_line import Parser

_EPILOG = """\
The exit status is 0 when native kernels work, and 1 when NumPy has to do
everything (correct, but slower).

examples:
  pellucid doctor
  pellucid doctor --format json > machine.json
"""

BUSY_SHARE = 0.7  # of a core; below it other processes decide how long a step takes
_PROBE = "define i64 @doctor_probe(i64 %x) {\n %y = mul i64 %x, 3\n ret i64 %y\n}\n"


def main(argv: Sequence[str]) -> int:
    """Print the report; returns 0 when native kernels work here, else 1."""
    args = _parser().parse_args(argv)
    report = collect()
    print(json.dumps(report, indent=2) if args.format == "json" else _as_text(report))
    return 0 if report["kernels"]["work"] else 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid doctor",
        description="Show the processor, BLAS, threads, kernel cache and versions, and test the native kernels.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    return parser


def collect() -> dict[str, dict[str, Any]]:
    """Everything the report holds, by section, as plain values that JSON can carry."""
    return {
        "pellucid": {
            "version": __version__,
            "location": str(Path(__file__).resolve().parents[1]),
            "torch": _torch(),
        },
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
        },
        "processor": _processor(),
        "blas": _blas(),
        "threads": _threads(),
        "kernels": _kernels(),
        "cache": _cache(),
        "packages": _packages(),
    }


def _torch() -> str:
    """What `import torch` is in this environment."""
    known = stand_in.found()
    if known is None:
        return "not installed"
    version, folder, ours = known
    return f"{version} in {folder}: " + ("Pellucid's stand-in" if ours else "PyTorch")


def _processor() -> dict[str, Any]:
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "model": _model_name(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "numpy_simd": sorted({*simd.get("baseline", ()), *simd.get("found", ())}),
    }


def _model_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        return platform.processor()
    return platform.processor()


def _blas() -> dict[str, Any]:
    """What NumPy was built with, and what the library that is loaded says about itself."""
    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    report: dict[str, Any] = {
        "name": built.get("name", "unknown"),
        "version": built.get("version", "unknown"),
    }
    found = blas.openblas()
    if found is not None and found.function is not None:
        kernels = found.function("get_corename")
        kernels.restype = ctypes.c_char_p
        report |= {"kernels_for": kernels().decode()}
    for library in blas.libraries():
        report.setdefault("libraries", []).append(
            f"{library.path} ({library.kind} {library.version}, at most {library.get()} threads)"
        )
    if not blas.libraries():
        report["why"] = "the number of threads of this library cannot be set from here"
    return report


def _threads() -> dict[str, Any]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    variables = (
        "PELLUCID_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    )
    report: dict[str, Any] = {
        "cores": os.cpu_count(),
        "usable_cores": usable,
        "pellucid": threads.get_num_threads(),
        "environment": {name: os.environ[name] for name in variables if name in os.environ},
        "share_of_a_core": round(_share(), 2),
    }
    if hasattr(os, "getloadavg"):
        report["load"] = round(os.getloadavg()[0], 1)
    if report["share_of_a_core"] < BUSY_SHARE:
        report["busy"] = (
            f"other processes take the cores: this one got {report['share_of_a_core']:.0%} of one. Expect steps to take "
            f"{1 / max(report['share_of_a_core'], 0.01):.1f} times as long. Several threads do not help then: try PELLUCID_NUM_THREADS=1"
        )
    return report


def _share(seconds: float = 0.1) -> float:
    """The part of a core that this process gets while it computes without a pause, from 0 to 1."""
    wall, own = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        pass
    return min(1.0, (time.process_time() - own) / (time.perf_counter() - wall))


def _kernels() -> dict[str, Any]:
    """Whether a native function can be generated, loaded and called here, and for which processor."""
    try:
        host = target.host()
    except (ImportError, OSError, RuntimeError) as error:
        return {"work": False, "why": f"llvmlite does not load: {error}"}
    report: dict[str, Any] = {
        "work": False,
        "llvm": ".".join(map(str, target.llvm_binding().llvm_version_info)),
        "processor": host.cpu,
        "vector_bits": host.vector_bits,
        "features": sorted(name[1:] for name in host.features.split(",") if name.startswith("+")),
    }
    if not host.vector_bits:
        return report | {"why": "kernels are not made for this kind of processor"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        functions = jit.compile_ir(_PROBE, {"doctor_probe": "i>i"})
    if functions is None:
        return report | {"why": "; ".join(str(warning.message) for warning in caught)}
    result = functions["doctor_probe"](14)
    if result != 42:
        return report | {"why": f"a generated function gave {result} instead of 42"}
    report["work"] = True
    if not config.kernels:
        report["switched_off"] = "by PELLUCID_KERNELS"
    return report


def _cache() -> dict[str, Any]:
    folder = cache.directory()
    if folder is None:
        return {"location": None, "works": False, "why": cache.problem()}
    sizes = [entry.stat().st_size for entry in folder.iterdir() if entry.is_file()]
    cache.store("doctor", b"probe", ".probe")
    works = cache.load("doctor", ".probe") == b"probe"
    report = {
        "location": str(folder),
        "works": works,
        "files": len(sizes),
        "bytes": sum(sizes),
        "limit_bytes": cache.CACHE_BYTES,
    }
    return (
        report
        if works
        else report | {"why": "what is stored cannot be read back: the disk is full or read-only"}
    )


def _packages() -> dict[str, str]:
    names = (
        "numpy",
        "scipy",
        "llvmlite",
        "ml_dtypes",
        "opt_einsum",
        "safetensors",
        "threadpoolctl",
        "rich",
    )
    optional = ("mpi4py", "onnx", "ipython", "tensorboard")
    found = {}
    for name in (*names, *optional):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            if name in names:
                found[name] = "missing"
    return found


def _as_text(report: dict[str, dict[str, Any]]) -> str:
    lines = []
    for section, values in report.items():
        lines.append(section)
        for name, value in values.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
            elif isinstance(value, list):
                value = " ".join(value)
            elif isinstance(value, bool):
                value = "yes" if value else "no"
            elif name.endswith("bytes"):
                value = f"{value / 2**20:.1f} MiB"
            label = name
            if section != "packages":
                label = name.removesuffix("_bytes").replace("_", " ").replace("bytes", "size")
            lines.append(f"  {label:15} {value}")
    return "\n".join(lines)
