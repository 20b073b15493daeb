"""The processor."""

from __future__ import annotations

import importlib


def get_cpu_capability() -> str:
    """The widest vector instructions here, in PyTorch's words: "AVX512", "AVX2", "SVE", "NO AVX" or
    "DEFAULT" (others).

    >>> get_cpu_capability() in ("AVX512", "AVX2", "NO AVX", "SVE", "DEFAULT")
    True
    """
    features = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    if features.get("SSE"):
        return (
            "AVX512"
            if features.get("AVX512F") and features.get("AVX512_SKX")
            else "AVX2"
            if features.get("AVX2")
            else "NO AVX"
        )
    return "SVE" if features.get("SVE") else "DEFAULT"
