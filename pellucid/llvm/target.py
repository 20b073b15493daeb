"""The properties of the host processor that matter to generated code."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from . import cache

__all__ = ["Target", "available", "host", "llvm_binding"]


@dataclass(frozen=True)
class Target:
    """The processor that kernels are generated for.

    `vector_bits` is the width of a vector register in bits (512, 256 or 128), `arch` is `"x86"`,
    `"arm"` or `"other"`, and `key` is a string that changes whenever compiled code would no longer
    be valid.
    """

    arch: str
    cpu: str
    features: str
    vector_bits: int
    key: str

    def lanes(self, ctype: str = "float") -> int:
        """Number of elements of the LLVM type `ctype` in one vector register.

        >>> Target("arm", "generic", "", 128, "").lanes("float")
        4
        """
        return self.vector_bits // {"float": 32, "double": 64, "i32": 32, "i64": 64}[ctype]


@functools.cache
def llvm_binding():
    """Return the module `llvmlite.binding`, initialized for this machine. Raises ImportError if it
    is not installed.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def available() -> bool:
    """Return whether kernels can be generated here: llvmlite is installed, and the processor has
    vector instructions with fused multiply-add.

    >>> isinstance(available(), bool)
    True
    """
    if importlib.util.find_spec("llvmlite") is None:
        return False
    try:
        return host().vector_bits > 0
    except (ImportError, OSError, RuntimeError):  # a broken llvmlite must not break the library
        return False


@functools.cache
def host() -> Target:
    """Return the processor that this program runs on. `vector_bits` is 0 if kernels are not
    supported there (big-endian, 32 bits).

    LLVM determines it once for each processor and version of llvmlite. After that it is read from
    the cache folder, which is faster than loading LLVM in a program whose code is cached, too.
    """
    told = _description()
    stored = cache.load(told, ".host") if told else None
    if stored is not None:
        return Target(**json.loads(stored))
    found = _asked()
    if told:
        cache.store(told, json.dumps(asdict(found)).encode(), ".host")
    return found


def _description() -> str | None:
    """Return a digest of the processor as the system describes it, the installed LLVM, and whatever
    else `host` depends on; None if the system does not provide it.
    """
    spec = importlib.util.find_spec("llvmlite")
    if sys.platform != "linux" or spec is None or spec.origin is None:
        return None
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read(8192).split(b"\n\n", 1)[0]
        kept = [line for line in first.split(b"\n") if line.split(b":")[0].strip() in _CPUINFO]
        if not any(line.startswith((b"flags", b"Features")) for line in kept):
            return None
        libraries = sorted((Path(spec.origin).parent / "binding").glob("*llvmlite*"))
        files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in libraries]
    except OSError:
        return None
    parts = (
        kept,
        files,
        platform.machine(),
        os.environ.get("PELLUCID_VECTOR_BITS"),
        sys.maxsize,
        [*Target.__dataclass_fields__],
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest() if files else None


# The lines of /proc/cpuinfo that identify the processor (x86; ARM). Other lines change while it
# runs.
_CPUINFO = frozenset(
    [b"vendor_id", b"cpu family", b"model", b"model name", b"stepping", b"flags"]
    + [
        b"Features",
        b"CPU implementer",
        b"CPU architecture",
        b"CPU variant",
        b"CPU part",
        b"CPU revision",
    ]
)


def _asked() -> Target:
    llvm = llvm_binding()
    cpu = llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features()
    flat = features.flatten()
    machine = platform.machine().lower()
    arch = (
        "x86"
        if machine in ("x86_64", "amd64")
        else "arm"
        if machine in ("aarch64", "arm64")
        else "other"
    )
    bits = _vector_bits(arch, features)
    # for tests of, and comparisons with, code for narrower processors
    narrower = os.environ.get("PELLUCID_VECTOR_BITS")
    if narrower in ("128", "256"):
        bits = min(bits, int(narrower))
    if sys.byteorder != "little" or sys.maxsize < 2**32:
        bits = 0
    triple = llvm.get_default_triple()
    version = ".".join(map(str, llvm.llvm_version_info))
    return Target(arch, cpu, flat, bits, f"{triple}|{cpu}|{flat}|llvm {version}")


def _vector_bits(arch: str, features: dict[str, bool]) -> int:
    if arch == "x86":
        if all(
            features.get(name) for name in ("avx512f", "avx512vl", "avx512dq", "avx512bw", "fma")
        ):
            return 512
        # Without FMA, generated code would call the C library for every fused multiply-add.
        return 256 if features.get("avx2") and features.get("fma") else 0
    return 128 if arch == "arm" else 0
